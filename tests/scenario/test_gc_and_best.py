"""The verbs gc and best, as commands."""

import json
import os
import time

from support.commands import SMALL, Workbench


def test_gc_trims_what_nobody_used_for_long(build, tmp_path):
    own = Workbench(build / "sdpa-wb", tmp_path, tmp_path / "cache")
    for kernel in ("cpu_unfused", "cpu_online"):
        own.run("check", kernel, "--problem", SMALL, check=0)
    entries = [path for path in own.cache.glob("??/*") if len(path.name) == 64]
    assert len(entries) == 2
    young = own.json("gc", "--max-bytes", "0")
    assert (young["removed"], young["recent"]) == (0, 2)
    month = time.time() - 40 * 86_400
    os.utime(entries[0], (month, month))
    dry = own.json("gc", "--dry-run")
    assert (dry["removed"], dry["entries"]) == (1, 2)
    assert entries[0].exists()
    real = own.json("gc")
    assert (real["removed"], real["freed_bytes"]) == (1, dry["freed_bytes"])
    assert not entries[0].exists()
    assert entries[1].exists()
    os.utime(entries[1], (month, month))
    (own.cache / "photos").mkdir()
    assert own.json("gc", "--max-bytes", str(real["bytes"]), "--older-than", "50")["removed"] == 0
    text = own.run("gc", "--max-bytes", "0", check=0).stdout
    assert text.startswith("removed 1 of 1 entries")
    assert (own.cache / "photos").exists()
    for words in (["--max-bytes", "-1"], ["--max-bytes", "much"], ["--older-than", "nan"]):
        own.run("gc", *words, check=2)
    # What was trimmed is built again.
    own.run("check", "cpu_online", "--problem", SMALL, check=0)
    (tmp_path / "file").write_text("x")
    done = Workbench(build / "sdpa-wb", tmp_path, tmp_path / "file").run("gc", check=2)
    assert "Not a directory; name a folder" in done.stderr


def test_best_says_what_is_chosen_and_why(wb, tmp_path):
    shipped = wb.json("best", "--problem", SMALL)
    assert (shipped["variant"], shipped["fallback"]) == ("cpu_tiled", True)
    kernels = tmp_path / "kernels"
    kernels.mkdir()
    proof = {"artifact_id": "a" * 64, "session": "s-0007"}
    rules = [
        {"when": "Sq > 32", "variant": "gone", **proof},
        {"when": "Sq > 32", "dtypes": ["f32"], "variant": "cpu_online", **proof},
        {"variant": "cpu_unfused"},
    ]
    table = kernels / "dispatch.json"
    table.write_text(json.dumps({"version": 1, "rules": rules}))
    best = wb.json("best", "--problem", SMALL)
    assert (best["variant"], best["rule"], best["session"]) == ("cpu_online", 2, "s-0007")
    assert best["passed_over"][0]["variant"] == "gone"
    text = wb.run("best", "--problem", SMALL, check=0).stdout
    assert "Sq > 32" in text
    assert "s-0007" in text
    assert "passed over: rule 1" in text
    short = wb.run("best", "--problem", "B=1 Hq=2 Sq=8 D=32 f32", check=0).stdout
    assert short.startswith("cpu_unfused")
    assert "fallback" in short
    wb.run("best", "--problem", "B=1 Sq=none", check=65)
    wb.run("best", check=2)
    table.write_text('{"version": 1, "rules": []}')
    wb.run("best", "--problem", SMALL, check=65)
    table.write_text("{")
    wb.run("best", "--problem", SMALL, check=65)
