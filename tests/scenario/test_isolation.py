# SPDX-License-Identifier: MIT
"""How strongly subjects are confined is said by `doctor` and by the log, and `--isolation` forces
each level that the machine has below that."""

from support.commands import SMALL
from support.logs import events

LEVELS = ["rlimits", "landlock", "seccomp", "namespaces"]


def doctor_says(wb, *words):
    rows = {row["name"]: row for row in wb.json("doctor", *words, check=None)["checks"]}
    return rows["worker"]["detail"].rsplit("isolation ", 1)[1]


def log_says(wb, level):
    wb.run("open", "--start", "cpu_online", "--problem", SMALL, "--rivals", "none", "--effort",
           "quick", "--session", level, "--isolation", level, check=0)  # fmt: skip
    recorded = [e for e in events(wb.folder / level) if e["type"] == "environment_recorded"]
    return recorded[0]["payload"]["worker"]["isolation"]


def test_each_level_is_forced_and_said(wb):
    strongest = doctor_says(wb)
    said = [log_says(wb, level) for level in LEVELS]
    assert said[0] == "rlimits+no_new_privs"
    assert said[-1] == strongest
    for i in range(1, len(LEVELS)):
        assert said[i].startswith(said[i - 1])  # the same where the machine has no more
        assert not any(above in said[i - 1] for above in LEVELS[i:])
    assert doctor_says(wb, "--isolation", "landlock") == said[1]


def test_a_level_that_is_none_is_refused(wb):
    refused = wb.run("doctor", "--isolation", "none")
    assert refused.returncode != 0
    assert "namespaces" in refused.stderr
