"""Pages for a browser and sites of the kept sessions: opened in a real headless Chromium where
there is one, and held against the reports."""

import html
import html.parser
import json
import re
import shutil
import subprocess
from urllib.parse import unquote

import pytest
from browser import PROGRAM, Browser
from support.commands import SMALL
from support.kept import SESSIONS, kept
from support.logs import events, log_of, session_name

MMA = kept("h200-mma-v3")
MOST_BYTES = 2_000_000
HOSTILE = (
    "</script><script>document.title='owned'</script>\">"
    "<img src=x onerror=\"document.title='owned'\">"
    " [click](javascript:alert(1)) \u202egnp.exe\u2066 na\u00c3\u00afve \x1b[31m `</code></pre>`"
)
WIDER = """[...document.querySelectorAll('body *')].filter(element => {
  if (element.closest('.scroll, pre, svg') && !element.matches('.scroll, pre, svg')) return false;
  return element.getBoundingClientRect().right > document.documentElement.clientWidth + 0.5;
}).map(element => element.outerHTML.slice(0, 200))"""
BROKEN = """[...document.querySelectorAll('a[href]')].map(a => a.getAttribute('href'))
  .filter(href => !href.startsWith('#') || !document.getElementById(href.slice(1)))"""

needs_browser = pytest.mark.skipif(PROGRAM is None, reason="no chromium here (.ci/install.sh test)")


@pytest.fixture(scope="module")
def browser():
    with Browser() as running:
        yield running


def page_of(wb, session, tmp_path):
    file = tmp_path / "page.html"
    wb.run("report", "--html", "--session", session, "--output", file, check=0)
    return file


def check_in(browser, file, widths=(1200, 360)):
    for width in widths:
        address = browser.open(file, width)
        assert browser.complaints() == []
        assert [url for url in browser.requests() if url not in (address, "data:,")] == []
        assert browser.value("document.scrollingElement.scrollWidth") <= width
        assert browser.value(WIDER) == []
        assert browser.value("document.title") not in ("", "owned")
    assert browser.value("document.scripts.length") == 0


@needs_browser
@pytest.mark.parametrize("session", SESSIONS, ids=session_name)
def test_a_browser_shows_the_page_whole(wb, tmp_path, browser, session):
    file = page_of(wb, session, tmp_path)
    assert file.stat().st_size <= MOST_BYTES
    check_in(browser, file)
    assert browser.value(BROKEN) == []
    assert browser.value("document.querySelectorAll('a[href^=\"#e\"]').length") > 20
    # The first screen of a telephone has the outcome on it.
    browser.open(file, 360, 780)
    top = browser.value("document.querySelector('.tiles').getBoundingClientRect().bottom")
    assert top < 780


@needs_browser
def test_letters_stay_legible_and_figures_fit_their_width(wb, tmp_path, browser):
    file = page_of(wb, MMA, tmp_path)
    for width in (1200, 360):
        browser.open(file, width)
        scales = browser.value(
            "[...document.querySelectorAll('figure > div > svg')].filter(e => e.checkVisibility())"
            ".map(e => e.getBoundingClientRect().width / e.viewBox.baseVal.width)"
        )
        assert len(scales) == 6
        assert all(0.95 < scale < 1.4 for scale in scales)  # 12 px letters stay about that
        cut = browser.value(
            "[...document.querySelectorAll('figure > div > svg')].filter(e => e.checkVisibility())"
            ".flatMap(svg => [...svg.querySelectorAll('text')].filter(t => {"
            "  const a = t.getBoundingClientRect(), b = svg.getBoundingClientRect();"
            "  return a.left < b.left - 1 || a.right > b.right + 1 || a.top < b.top - 1;"
            "}).map(t => t.textContent))"
        )
        assert cut == []


@needs_browser
def test_hostile_words_stay_words(wb, tmp_path, browser):
    wb.open_small()
    wb.run("note", HOSTILE, "--session", "s", check=0)
    wb.run("close", "--session", "s", "--reason", HOSTILE, check=0)
    file = page_of(wb, "s", tmp_path)
    check_in(browser, file)
    assert browser.value("document.images.length") == 0
    text = browser.value("document.body.textContent")
    assert "<script>document.title='owned'</script>" in text
    assert "{U+202E}gnp.exe{U+2066}" in text
    assert browser.value("[...document.links].every(a => a.getAttribute('href')[0] == '#')")


@needs_browser
def test_dark_and_print_have_contrast(wb, tmp_path):
    file = page_of(wb, MMA, tmp_path)
    luminance = (
        "(css => { const [r, g, b] = css.match(/[0-9.]+/g).map(v => {"
        " v /= 255; return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; });"
        " return 0.2126 * r + 0.7152 * g + 0.0722 * b; })"
    )
    for dark, medium in ((False, "screen"), (True, "screen"), (True, "print")):
        with Browser(dark) as browser:
            browser.open(file)
            scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
            browser.call("Emulation.setEmulatedMedia", media=medium, features=[scheme])
            ground = browser.value(f"{luminance}(getComputedStyle(document.body).backgroundColor)")
            assert (ground < 0.05) == (dark and medium == "screen")
            for choice in (
                "body",
                ".soft",
                "a",
                "figcaption",
                "svg .good",
                "svg .bad",
                "svg .main",
            ):
                of = "stroke" if choice.startswith("svg") else "color"
                mark = browser.value(
                    f"{luminance}(getComputedStyle(document.querySelector('{choice}')).{of})"
                )
                low, high = sorted((ground, mark))
                assert (high + 0.05) / (low + 0.05) >= 4.5, (dark, medium, choice)


class Balance(html.parser.HTMLParser):
    """Every element that is opened is closed, in order."""

    VOID = ("meta", "link", "br", "hr", "wbr")

    def __init__(self):
        super().__init__()
        self.open_tags = []

    def handle_starttag(self, tag, attrs):
        if tag not in self.VOID:
            self.open_tags.append(tag)

    def handle_endtag(self, tag):
        assert self.open_tags, (tag, self.getpos())
        assert self.open_tags.pop() == tag, (tag, self.getpos())


@pytest.mark.parametrize("session", SESSIONS, ids=session_name)
def test_elements_are_closed_in_order(wb, tmp_path, session):
    balance = Balance()
    balance.feed(page_of(wb, session, tmp_path).read_text())
    assert balance.open_tags == []


@pytest.mark.parametrize("session", SESSIONS, ids=session_name)
def test_figures_are_those_of_the_report(wb, tmp_path, session):
    page = page_of(wb, session, tmp_path).read_text()
    report = wb.run("report", "--kind", "full", "--session", session, check=0).stdout
    standing = page[page.index('<section id="sdpa"') : page.index('<section id="speedup"')]
    ratios = re.findall(r'<text class="" [^>]*>([0-9.]+x)</text>', standing)
    two_pages = wb.run("report", "--session", session, check=0).stdout
    assert ratios or "No rival was measured" in two_pages
    for ratio in ratios:
        assert ratio in report
    roofline = page[page.index('<section id="roofline"') : page.index('<section id="samples"')]
    times = re.findall(r'<td class="r">([0-9.]+)</td><td class="r">[0-9.]+ [TGMk]FLOP/s', roofline)
    assert times or "No comparison timed the incumbent" in roofline
    for time_us in times:
        assert f" {time_us} |" in report
    tiles = re.findall(r"<b>([^<]+)</b>", page[page.index("tiles") : page.index("</header>")])
    # The mean over rivals is that of the two pages; the whole report may have it from one event.
    for tile in tiles[:2] + tiles[3:]:
        assert tile == "\u2013" or html.unescape(tile) in report + two_pages
    # All of the report is there, word for word, up to markup.
    for line in report.splitlines():
        words = re.findall(r"[A-Za-z]{4,}", line.split("|")[1] if line.startswith("|") else line)
        for word in words[:6]:
            assert word in page


def test_changes_are_those_that_git_tells(wb, tmp_path, unpacked):
    """Added and removed lines of the sources, kernel folders of another name beside each other."""
    page = page_of(wb, MMA, tmp_path).read_text()
    shown = re.search(r"(\d+) files, \+(\d+) \u2212(\d+)", page)
    sides = []
    built = {}
    folder = unpacked("h200-mma-v3")
    for event in events(MMA):
        if event["type"] == "variant_built":
            built[event["payload"]["subject"].split("@")[0]] = event["payload"]["variant_id"]
    for name in ("sm80_sequential_kv", "sm80_mma_flash"):
        side = tmp_path / name
        shutil.copytree(folder / "kernels" / built[name], side)
        (side / name).rename(side / "own")
        sides.append(side)
    counts = subprocess.run(
        ["git", "diff", "--no-index", "--no-renames", "--numstat", *sides],
        capture_output=True, text=True,
    ).stdout.split("\n")  # fmt: skip
    rows = [line.split("\t") for line in counts if line]
    assert [len(rows), sum(int(row[0]) for row in rows), sum(int(row[1]) for row in rows)] == [
        int(number) for number in shown.groups()
    ]


def test_a_page_is_the_same_twice(wb, tmp_path):
    one = page_of(wb, MMA, tmp_path).read_bytes()
    assert one == page_of(wb, MMA, tmp_path).read_bytes()
    assert one.decode() == wb.run("report", "--html", "--session", MMA, check=0).stdout


def test_a_site_has_a_page_each_and_relative_links(wb, tmp_path):
    alone = tmp_path / "sessions"  # what lies beside the kept ones is not of the project
    alone.mkdir()
    for session in SESSIONS:
        (alone / session.name).symlink_to(session)
    answer = wb.json("site", alone, "--output-dir", tmp_path / "out")
    assert len(answer["pages"]) == len(SESSIONS)
    assert answer["faults"] == []
    index = (tmp_path / "out/index.html").read_text()
    links = {link for link in re.findall(r'href="([^"]+)"', index) if link != "data:,"}
    assert {f"./{session_name(session)}.html" for session in SESSIONS} == links
    for link in links:
        assert (tmp_path / "out" / unquote(link)).is_file()
    used = [
        json.loads(line)["payload"]["quantity"]
        for session in SESSIONS
        for line in log_of(session).splitlines()
        if '"cost_debited"' in line and '"device"' in line
    ]
    assert f'<td class="r">{sum(used):.1f}</td>' in index  # the last of the sums


@pytest.mark.parametrize("folder", ["runs", "runs/", ".", "runs/../runs/."])
def test_a_site_is_called_as_its_folder(wb, tmp_path, folder):
    (tmp_path / "runs").mkdir()
    for name in ("one", "index"):
        shutil.copy(SESSIONS[0], tmp_path / "runs" / f"{name}.tar.gz")
    within = wb.__class__(wb.program, tmp_path / "runs" if folder == "." else tmp_path, wb.cache)
    answer = within.json("site", folder, "--output-dir", tmp_path / "out")
    index = tmp_path / "out/index-of-sessions.html"  # for one session is called "index"
    assert answer["index"] == str(index)
    assert "<h1>Sessions in runs</h1>" in index.read_text()
    for page in answer["pages"]:
        with open(page) as file:
            assert f'<a href="./{index.name}">all sessions</a>' in file.read()


@needs_browser
def test_a_browser_shows_a_site(wb, tmp_path, browser):
    sessions = tmp_path / "sessions"
    sessions.mkdir()
    for session in SESSIONS[:2]:
        shutil.copy(session, sessions)
    shutil.copy(SESSIONS[0], sessions / '"><img src=x onerror=alert(1)>.tar.gz')
    broken = sessions / "broken"
    broken.mkdir()
    (broken / "events.jsonl").write_text("no event\n")
    answer = wb.json("site", sessions, "--output-dir", tmp_path / "out")
    assert [fault["session"] for fault in answer["faults"]] == ["broken"]
    check_in(browser, tmp_path / "out/index.html")
    assert browser.value("document.images.length") == 0
    assert "broken" in browser.value("document.querySelector('#faults').textContent")
    for link in browser.value("[...new Set([...document.links].map(a => a.href))]"):
        browser.open(unquote(link.removeprefix("file://")))
        assert browser.value("document.querySelectorAll('h1').length") == 1


def test_a_playbook_writes_no_files(wb, tmp_path):
    (wb.folder / "playbooks").mkdir()
    (wb.folder / "playbooks/writes.lua").write_text(
        "return {about = 'writes', run = function(wb)\n"
        f"  wb.report{{output = '{tmp_path}/leak'}}\nend}}\n"
    )
    wb.open_small()
    done = wb.run("run", "writes", "--session", "r", "--start", "cpu_unfused",
                  "--problem", SMALL, "--rivals", "none", "--effort", "quick")  # fmt: skip
    assert done.returncode != 0
    assert not (tmp_path / "leak").exists()
