# SPDX-License-Identifier: MIT
"""Prints the latest recorded run of the fault plan into docs/results/reliability.md, between its
two markers; run it after a new record was appended to tests/data/torture.jsonl or soak.jsonl. A
test compares the two."""

import json
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "results" / "reliability.md"
DATA = ROOT / "tests" / "data"
BEGIN, END = "<!-- table: begin -->", "<!-- table: end -->"
# row -> what is done to it, what must hold
PLAN = {
    "A1": ("SIGKILL at nine places of each of 60 events: before the write, torn at four lengths, "
           "before and after the sync, after the blob's rename, after the commit",
           "nothing acknowledged is lost, nothing stands twice; the session goes on and tells the "
           "same story"),
    "A2 cut": ("the log cut at each byte of its last three lines",
               "whole lines stay, the tail is saved and reported"),
    "A2 flip": ("each bit of one line in the middle flipped", "refused, the line named"),
    "A3": ("SIGKILL at a random call, and again while that is recovered from", "as A1"),
    "A4 session": ("the Nth call of eight kinds of a session and of its git repository fails: "
                   "ENOSPC, EIO, EMFILE, EINTR; once and from then on",
                   "typed error, no descriptor of the program stays open, the log is valid and "
                   "goes on"),
    "A4 process": ("the same for fork, pipe, open, write and mmap of a child's start",
                   "typed error, no child and no descriptor left"),
    "A4 cache": ("the same for a build into the artifact cache",
                 "the machine's fault, never a half artifact"),
    "A4 strace": ("the same calls of the real `note`, `close` (every third) and `check`, made to "
                  "fail by strace",
                  "exit code and one message; the next command goes on"),
    "A5": ("disks of 64 KiB to 2 MiB in 32 steps", "a whole last line; goes on with space"),
    "B1": ("eight processes start on one folder",
           "one writer, seven refusals that name it, readers work"),
    "B2": ("stale and foreign locks; folder deleted, moved, linked, another user's; clock set back "
           "1 h", "a clear message or none needed, nothing written elsewhere"),
    "B3": ("two writers in one repository, 200 commits each", "400 commits; git fsck is clean"),
    "G": ("hostile Lua", "ends in time with its message"),
    "signals": ("SIGTERM and SIGHUP at random moments",
                "paused in order; a resume goes on with all that was logged"),
}  # fmt: skip


def latest(kind="torture"):
    """The last line of its records: those of whole runs, oldest first."""
    records = DATA / f"{kind}.jsonl"
    return json.loads(records.read_text().splitlines()[-1]) if records.exists() else None


def latest_soak():
    return latest("soak")


def row_line(row):
    _, must = PLAN[row["row"]]
    result = f"{row['passed']} of {row['tried']}" if row["tried"] else "–"
    if row["skipped"]:
        result += "; skipped: " + ", ".join(row["skipped"])
    return f"| {row['row']} | {must} | {result} | {row['seconds']:.0f} |"


def soak_lines(soak):
    grown = ", ".join(
        f"{what.replace('_', ' ')} {share:+.1%}" for what, share in sorted(soak["growth"].items())
    )
    outcomes = ", ".join(f"{count} {word}" for word, count in sorted(soak["outcomes"].items()))
    missed = f" **Missed:** {'; '.join(soak['faults'])}." if soak["faults"] else ""
    return [
        "",
        f"`make soak` ({soak['machine']}): {soak['seconds'] / 60:.0f} minutes, {soak['sessions']} "
        f"sessions, {soak['iterations']} iterations ({outcomes}), {soak['evaluations']} "
        f"evaluations, {soak['events']} events, {soak['kills']} kills of the host. Lost: nothing; "
        f"processes left: {len(soak['processes_left'])}; temporary files left: "
        f"{len(soak['files_left'])}; zombies: {soak['zombies']}. Growth from the second to the "
        f"last quarter of a host's life, median of {soak['hosts_watched']} hosts: {grown}.{missed}",
    ]


def render(record, soak):
    minutes = record["seconds"] / 60
    rows = sorted(record["rows"], key=lambda row: list(PLAN).index(row["row"]))
    lines = [
        f"`make torture` of {record['date']} ({record['machine']}): {minutes:.0f} minutes.",
        "",
        "| row | what must hold | points passed | seconds |",
        "|---|---|---|---|",
        *map(row_line, rows),
        "",
        "What is done in each:",
        "",
        *(f"- **{row['row']}**: {PLAN[row['row']][0]}." for row in rows),
    ]
    return "\n".join(lines + (soak_lines(soak) if soak else []))


def pages(page=PAGE):
    """File and text of the page, as the latest record has it. What stands outside the two markers
    stays."""
    before, _, rest = page.read_text().partition(BEGIN)
    _, _, after = rest.partition(END)
    return {page: f"{before}{BEGIN}\n\n{render(latest(), latest_soak())}\n\n{END}{after}"}


def main():
    for page, text in pages().items():
        page.write_text(text)


if __name__ == "__main__":
    main()
