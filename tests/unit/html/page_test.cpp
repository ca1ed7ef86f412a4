// SPDX-License-Identifier: MIT
// The page of a session: its required parts, and that no log can break it.
#include <regex>

#include "core/json.hpp"
#include "html/html.hpp"
#include "report/report.hpp"
#include "stored_session.hpp"

using namespace wb;
using namespace wb::html;
using namespace wb::report;
using namespace wb::test;
using testing::must;
using testing::Scratch;

namespace {

std::string page_of(const LogBuilder& log) {
  const Scratch scratch;
  return must(session_html(stored(scratch, log)));
}

/// Every string of the payloads, hostile ones in their place where they are free text.
LogBuilder hostile_session(const std::string& hostile) {
  LogBuilder log;
  Json opened = opened_payload();
  opened["title"] = hostile;
  opened["session"] = hostile;
  opened["suite"]["name"] = hostile;
  opened["suite"]["problems"][0]["name"] = hostile;
  log.add("session_opened", opened);
  record_environment(log);
  run_baseline(log);
  open_iteration(log, 1, hostile, hostile, 1.2);
  fail_build(log, 1, hostile, hostile);
  close_iteration(log, 1, "invalid", "compile", hostile);
  log.add("note", {{"iteration", nullptr}, {"text", hostile}});
  close_session(log, hostile);
  return log;
}

}  // namespace

TEST_CASE("a page has all its parts and every figure of the first screen", "[html][page]") {
  LogBuilder log = whole_session();
  const std::string page = page_of(log);
  for (const char* part : {"sdpa", "speedup", "roofline", "samples", "timeline", "cost-burn",
                           "diffs", "report", "events"}) {
    INFO(part);
    CHECK(times(page, "<section id=\"" + std::string(part) + "\"") == 1);
  }
  const std::string markdown = render_session(log.view());
  const std::string gain = line_with(markdown, "- **Gain:**");
  const std::regex figure("[0-9.]+x \\[[0-9.]+, [0-9.]+\\]");
  std::smatch match;
  REQUIRE(std::regex_search(gain, match, figure));
  const std::string whole = match[0];
  CHECK(holds(page, "<b>" + whole.substr(0, whole.find(' ')) + "</b>"));
  CHECK(holds(page, whole));
  CHECK(page.size() < k_max_html_bytes);
  CHECK_FALSE(holds(page, "<script"));
}

TEST_CASE("every link of a page leads to a place on it", "[html][page]") {
  LogBuilder log = whole_session();
  add_turn(log, 0, "baseline", k_prefill, k_start, 100);
  const std::string page = page_of(log);
  std::set<std::string> ids;
  const std::regex id("id=\"([^\"]+)\""), link("href=\"([^\"]+)\"");
  for (std::sregex_iterator it(page.begin(), page.end(), id), end; it != end; ++it) {
    CHECK(ids.insert((*it)[1]).second);  // an id stands once
  }
  std::size_t links = 0;
  for (std::sregex_iterator it(page.begin(), page.end(), link), end; it != end; ++it) {
    const std::string target = (*it)[1];
    if (target == "data:,") continue;  // the icon that is none
    ++links;
    INFO(target);
    REQUIRE(target.starts_with("#"));
    CHECK(ids.contains(target.substr(1)));
  }
  CHECK(links > 30);
}

TEST_CASE("no text of a log becomes markup", "[html][page][escape]") {
  for (const std::string hostile :
       {"</script><script>alert(1)</script>", "\"><img src=x onerror=alert(1)>",
        "'><svg onload=alert(1)>", "</title></style><b>x", "--><iframe src=//a.b>",
        "[x](javascript:alert(1)) ![y](http://a.b/c)", "a\u202eb\u2066c\u200b", "\xff\xfe\xc3\x28",
        "&lt;script&gt;alert(1)&lt;/script&gt;", "`</code></pre><script>`", "{}{0}%s%n"}) {
    const std::string page = page_of(hostile_session(hostile));
    INFO(hostile);
    for (const char* element : {"<script", "<img", "<iframe", "<b>x", "onerror=alert(1)>",
                                "<svg onload", "javascript:alert(1)\"", "\u202e", "\u2066"}) {
      INFO(element);
      CHECK_FALSE(holds(page, element));
    }
    CHECK(times(page, "<title>") >= 1);
    CHECK(times(page, "</style>") == 1);
  }
}

TEST_CASE("source changes are a diff, whatever the sources and their files are called",
          "[html][page][escape]") {
  LogBuilder log = whole_session();
  const Scratch scratch;
  const auto write = [&](const std::string& id, const std::string& path, const std::string& text) {
    const fs::path file = scratch / "kernels" / id / path;
    fs::create_directories(file.parent_path());
    testing::spill(file, text);
  };
  const std::string start = std::string("id-of-") + k_start, tiled = "id-of-cpu_tiled@1f0c44a1";
  write(start, "cpu_unfused/kernel.cpp", "same\nold <b>line</b>\n");
  write(tiled, "cpu_tiled/kernel.cpp", "same\nnew </code></pre><script>alert(1)</script>\n");
  write(tiled, "cpu_tiled/\"><img src=x onerror=alert(1)>.h", "\tx \u202ey\n");
  const std::string page = must(session_html(stored(scratch, log)));
  CHECK(holds(page, "2 files, +2 \u22121"));
  CHECK(holds(page, "<span class=\"d\">-old &lt;b&gt;line&lt;/b&gt;</span>"));
  CHECK(holds(page, "<span class=\"a\">+new &lt;/code&gt;&lt;/pre&gt;&lt;script&gt;alert(1)"));
  CHECK(holds(page, "<span class=\"a\">+  x {U+202E}y</span>"));
  CHECK(holds(page, "<span> same</span>"));
  CHECK_FALSE(holds(page, "<script"));
  CHECK_FALSE(holds(page, "<img"));
}

TEST_CASE("a link out of the session's folder is not followed for a diff", "[html][page]") {
  LogBuilder log = whole_session();
  const Scratch scratch, elsewhere;
  testing::spill(elsewhere / "secret.h", "TOP SECRET\n");
  const fs::path folder = scratch / "kernels" / "id-of-cpu_tiled@1f0c44a1" / "cpu_tiled";
  fs::create_directories(folder);
  fs::create_symlink(elsewhere / "secret.h", folder / "secret.h");
  fs::create_directories(scratch / "kernels" / (std::string("id-of-") + k_start));
  const std::string page = must(session_html(stored(scratch, log)));
  CHECK_FALSE(holds(page, "TOP SECRET"));
  CHECK(holds(page, "sources are not stored in the session"));
}

TEST_CASE("samples show around the reported time", "[html][page]") {
  LogBuilder log;
  open_session(log);
  record_environment(log);
  run_baseline(log);
  add_turn(log, 0, "baseline", k_prefill, k_start, 100);
  add_turn(log, 0, "selection", k_prefill, k_start, 900);  // another phase: not its figure's
  const std::string page = page_of(log);
  CHECK(holds(page, "3 samples in 1 turn"));
  CHECK_FALSE(holds(page, "6 samples"));
}

TEST_CASE("the shapes of held-out problems stay hidden while a session is open", "[html][page]") {
  LogBuilder log;
  Json opened = opened_payload();
  opened["suite"]["problems"][1]["held_out"] = true;
  log.add("session_opened", opened);
  record_environment(log);
  run_baseline(log);
  const std::string name = opened["suite"]["problems"][1].value("name", "none such");
  const std::string before = page_of(log);
  CHECK_FALSE(holds(before, "Skv=1024"));
  CHECK_FALSE(holds(before, name));
  close_session(log, "done");
  CHECK(holds(page_of(log), "Skv=1024"));
}

TEST_CASE("a session that has only begun has a page", "[html][page]") {
  LogBuilder log;
  Json opened = opened_payload();
  opened["budget"] = {{"evaluations", nullptr}, {"wall_s", nullptr}, {"usd", nullptr}};
  log.add("session_opened", opened);
  const std::string page = page_of(log);
  CHECK(holds(page, "No iteration was run"));
  CHECK(holds(page, "No comparison timed the incumbent"));
  CHECK(holds(page, "Nothing was debited yet"));
}

TEST_CASE("a session has a page at every moment", "[html][page]") {
  const LogBuilder log = whole_session();
  for (std::size_t n = 1; n <= log.events().size(); n += 7) {
    INFO(n << " events");
    const std::string page = page_of(log.prefix(n));
    CHECK(times(page, "<section") == times(page, "</section>"));
    CHECK(times(page, "<svg") == times(page, "</svg>"));
    CHECK_FALSE(holds(page, "nan"));
    CHECK_FALSE(holds(page, "\"inf"));
  }
}

TEST_CASE("a session of very many iterations still fits, and says what was left out",
          "[html][page]") {
  LogBuilder log;
  open_session(log);
  record_environment(log);
  run_baseline(log);
  const std::string theory(2'000, 'x');
  for (int i = 1; i <= 1'500; ++i) {
    open_iteration(log, i, "cpu_variant", theory, 1.1);
    fail_build(log, i, "cpu_variant", std::string(3'000, 'y'));
    close_iteration(log, i, "invalid", "compile", std::string(3'000, 'z'));
  }
  const std::string page = page_of(log);
  CHECK(page.size() <= k_max_html_bytes);
  CHECK(holds(page, "left out to keep the page small"));
}

TEST_CASE("a redacted copy says so first", "[html][page]") {
  LogBuilder log;
  Json opened = opened_payload();
  opened["redacted"] = {{"log_head", std::string(64, 'a')}, {"events", 3}};
  log.add("session_opened", opened);
  const std::string page = page_of(log);
  CHECK(page.find("A redacted copy") < page.find("class=\"tiles\""));
  CHECK(holds(page, "(redacted copy)</h1>"));
}
