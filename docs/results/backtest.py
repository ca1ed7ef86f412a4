# SPDX-License-Identifier: MIT
"""The page about advice: at each step of the recorded climbs, with all later knowledge hidden."""

import json
import subprocess
import textwrap

from recorded import ROOT, archive_of, session_names

LEFT_OUT = """
Hidden at each step: later events of the climb; trials of other sessions that closed later; figures
of the catalogue and ideas whose source names the climb or a session that began later; ideas of that
day and later ones. Not hidden: which parameter turns which technique on in a kernel.

The next win is hit where one of the proposals is a technique or an idea that it brought. A win that
rewrote the kernel brought several, so it is easier to hit than one that changed a single thing;
those have a row of their own. The climbs of `hopper-prefill` replay steps that trials by another
driver had found before ([kernel_trials.md](kernel_trials.md)), and the register knew those of
earlier days. The baseline proposes what won most often so far and the incumbent lacks.

An error is of the expected gain over the suite, for steps that changed one technique or idea and
whose gain was expected at all. The cause that a win removes is a registered one that names what the
win brought among its remedies.
"""


def asked(build):
    """The answer of `advise --backtest` over all kept sessions. Raises CalledProcessError."""
    words = [str(archive_of(name)) for name in session_names()]
    command = [str(build / "sdpa-wb"), "advise", "--backtest", *words, "--json"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def share(part):
    return f"{part['count']} of {part['of']}"


def factor(value):
    return "none" if value is None else f"{value:.2f}"


def goals_table(goals):
    lines = ["| asked | wanted | got | reached |", "|---|---|---|---|"]
    for goal in goals:
        reached = "yes" if goal["reached"] else "no"
        lines.append(f"| {goal['what']} | {goal['wanted']} | {goal['got']} | {reached} |")
    return "\n".join(lines)


def climbs_table(rows):
    heads = ["climb", "steps", "hit@1", "hit@3", "hit@3, single changes", "baseline@3",
             "known losers", "later losers", "median error", "cause found"]  # fmt: skip
    lines = ["| " + " | ".join(heads) + " |", "|---" + "|---:" * (len(heads) - 1) + "|"]
    for row in rows:
        cells = [row["session"], str(row["steps"])]
        cells += [
            share(row[key])
            for key in ("hit_1", "hit_3", "hit_3_of_isolated", "baseline_3", "known_losers",
                        "later_losers")
        ]  # fmt: skip
        cells += [f"{factor(row['median_error_factor'])} ({row['sized']})", share(row["causes"])]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def younger_words(made):
    """Which climbs nobody tuned on, by their dates."""
    day = made["register_day"]
    names = [row["session"] for row in made["climbs"] if row["after_register"] and row["steps"]]
    words = f"No climb began after {day}, the youngest day in the register of ideas."
    if names:
        words = (
            f"Nobody tuned on the climbs that began after {day}, the youngest day in the register "
            f"of ideas: {', '.join(names)}. They have a row of their own."
        )
    return textwrap.fill(words, 100, break_long_words=False, break_on_hyphens=False) + "\n"


def some(names):
    """The first three, so that a row fits a screen."""
    return ", ".join(f"`{name}`" for name in names[:3]) + (" …" if len(names) > 3 else "")


def step_lines(steps):
    lines = []
    for step in steps:
        hit = "first" if step["hit_1"] else "hit" if step["hit_3"] else "not hit"
        target = some(step["next_win"]) or "none"
        figures = f"; expected {factor(step['predicted'])}" if step["predicted"] else ""
        figures += f", measured {factor(step['measured'])}" if figures and step["measured"] else ""
        lines.append(f"- {step['session']}, iteration {step['iteration']}: proposed "
                     f"{some(step['proposals']) or 'nothing'}; next win {target}"
                     f"{', ' + hit if step['next_win'] else ''}{figures}")  # fmt: skip
    return "\n".join(lines)


def shortfall(made):
    """Why goals are missed, as far as the figures tell it."""
    missed = [goal for goal in made["goals"] if not goal["reached"]]
    if not missed:
        return "All goals are reached.\n"
    lines = [f"- {goal['what']}: {goal['got']}, wanted {goal['wanted']}" for goal in missed]
    hidden = sum(1 for step in made["steps"] if step["next_win"] and not step["hit_3"])
    return (
        "Missed:\n\n" + "\n".join(lines) + f"\n\n{hidden} next wins were in none of the three "
        "proposals; the list of steps names them. Where a win is an idea that only its own climb "
        "tells of, nothing visible could propose it.\n"
    )


def page(build):
    made = asked(build)
    rows = [row for row in made["climbs"] if row["steps"] > 0]
    rows += [row for row in (made["after_register"], made["overall"]) if row["steps"] > 0]
    return f"""# Advice, held against recorded climbs

`sdpa-wb advise --backtest SESSIONS` asks for advice before each iteration of recorded climbs.

{goals_table(made["goals"])}

{shortfall(made)}
{climbs_table(rows)}

{younger_words(made)}{LEFT_OUT}
## Steps

{step_lines(made["steps"])}
"""
