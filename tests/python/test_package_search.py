# SPDX-License-Identifier: MIT
"""Searches by Optuna, driven for real: what it is told, what it proposes, and that a search goes on
from the log alone."""

import functools
import sys
import threading
import time

import pytest
from support.commands import ROOT
from support.logs import events

pytest.importorskip("optuna", reason="optuna is not installed (tests/python/requirements.txt)")
SPACE = ROOT / "tests" / "data" / "cpu_tiled_space_2026-11-21.json"
SLOWEST = {"TILE_M": 8, "TILE_N": 256}
TUNE = {"variant": "cpu_tiled", "hypothesis": "tiles fit", "predicted_speedup": 1.1}


def skip_without(strategy):
    names = {"cma_es": ["cmaes"], "gp": ["scipy", "torch"]}.get(strategy, [])
    for name in names:
        pytest.importorskip(name, reason=f"{strategy} needs {name}")


@pytest.fixture(params=["tpe", "cma_es", "gp"])
def strategy(request):
    skip_without(request.param)
    return request.param


def time_of(configuration):
    """A bowl whose lowest point is A = 6, B = 64; A = 1 has no time."""
    if configuration["A"] == 1:
        return None
    return 0.2 * (configuration["A"] - 6) ** 2 + 0.1 * abs(configuration["B"].bit_length() - 7)


def test_proposals_follow_from_answers_and_seed(package, strategy):
    parameters = {"A": list(range(1, 11)), "B": [8, 16, 32, 64, 128]}

    def walk(seed, steps=16):
        search = package.search.Search(strategy, parameters, seed)
        path = []
        for _ in range(steps):
            proposed = search.propose()
            assert proposed["A"] in parameters["A"]
            assert proposed["B"] in parameters["B"]
            search.tell(proposed, time_of(proposed))
            path.append(proposed)
        return path

    path = walk(1)
    assert walk(1) == path
    assert walk(2) != path
    late = [time_of(point) for point in path[10:] if time_of(point) is not None]
    assert min(late) < 0.5, path  # it learns: a random point has 4.1 in the mean


def test_a_search_hears_what_it_never_proposed(package, strategy):
    search = package.search.Search(strategy, {"A": [1, 2, 3], "B": [8, 16]}, 1)
    search.tell({"A": 1, "B": 8}, 0.0)
    search.tell({"A": 2, "B": 8}, None)
    proposed = search.propose()
    search.tell({"A": 3, "B": 16}, -0.1)
    search.tell(proposed, 0.3)
    states = [trial.state.name for trial in search._study.trials]
    assert sorted(states) == ["COMPLETE", "COMPLETE", "COMPLETE", "FAIL"]
    assert search._study.best_value == -0.1


def test_simulated_searches_find_the_recorded_optimum(package, strategy):
    words = {"strategy": strategy, "start": SLOWEST, "evaluations": 14}
    told = package.search.simulate(SPACE, **words)
    asked = [tuple(step["configuration"].items()) for step in told["steps"]]
    assert len(set(asked)) == 14
    assert told["steps"][0]["configuration"] == SLOWEST
    assert all(step["configuration"]["TILE_M"] * step["configuration"]["TILE_N"] <= 16384
               for step in told["steps"])  # fmt: skip
    assert told["steps"][-1]["fraction_of_optimum"] > 0.8
    assert told["proposer"].startswith("Optuna")
    assert package.search.simulate(SPACE, **words) == told


def test_the_engines_own_strategies_are_simulated_too(package):
    told = package.search.simulate(SPACE, strategy="exhaustive")
    assert (told["space_size"], len(told["steps"]), told["proposer"]) == (19, 19, "")
    assert told["steps"][-1]["fraction_of_optimum"] == 1
    with pytest.raises(package.errors.UsageError, match="no such strategy"):
        package.search.simulate(SPACE, strategy="guess")
    with pytest.raises(package.errors.NotFoundError):
        package.search.simulate("absent.json", strategy="random")


def test_simulate_lets_other_threads_run(package):
    """Threads take no turns by time here: another one moves only while simulate lets it."""
    simulate = functools.partial(package.search.simulate, SPACE, strategy="exhaustive")
    simulate()  # all is imported
    steps, ended = [], threading.Event()

    def walk():
        while not ended.is_set():
            steps.append(len(steps))
            time.sleep(0)

    other = threading.Thread(target=walk)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(3600)
    try:
        other.start()
        moved = 0
        for _ in range(50):  # the machine may be busy
            before = len(steps)
            simulate()
            moved += len(steps) - before
            if moved:
                break
    finally:
        ended.set()
        sys.setswitchinterval(interval)
        other.join()
    assert moved


def test_what_a_simulated_search_raises_passes_through(package, monkeypatch):
    class Failing:
        about = "fails"

        def __init__(self, *_):
            pass

        def propose(self):
            raise Stop("at the first question")

    monkeypatch.setattr(package.search, "Search", Failing)
    with pytest.raises(Stop, match="first question"):
        package.search.simulate(SPACE, strategy="tpe")
    assert package.search.simulate(SPACE, strategy="random", evaluations=2)["steps"]


class Stop(Exception):
    pass


def test_an_interrupted_tune_goes_on_from_its_log(package, small):
    """Stopped while the third evaluation runs: the two before are told again, none is repeated, and
    the log says who proposed."""

    def stop_at_the_third(progress):
        if progress.stage == "tune" and progress.done >= 2:
            raise Stop

    small.progress = stop_at_the_third
    with pytest.raises(Stop):
        small.tune(**TUNE, strategy="tpe", evaluations=4, seed=3)
    small.progress = None
    first = [e["payload"] for e in events(small.folder) if e["type"] == "evaluation"]
    assert len(first) == 2
    again = small.tune(**TUNE, strategy="tpe", evaluations=4, seed=3).to_dict()
    assert again["tune"]["replayed"] == 2
    log = events(small.folder)
    opened = [e["payload"]["tune"] for e in log if e["type"] == "iteration_opened"
              and "tune" in e["payload"]]  # fmt: skip
    assert [tune["strategy"] for tune in opened] == ["tpe", "tpe"]
    assert all(tune["proposer"].startswith("Optuna ") for tune in opened)
    asked = [e["payload"]["configuration"] for e in log if e["type"] == "evaluation"]
    assert len(asked) == 4
    assert len({tuple(configuration.items()) for configuration in asked}) == 4


def test_cma_es_tunes(package, small):
    skip_without("cma_es")
    tuned = small.tune(**TUNE, strategy="cma_es", evaluations=3)
    assert len(tuned.evaluations) == 3


def test_without_optuna_it_says_what_to_install(package, small, monkeypatch):
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(package.errors.UsageError, match=r"pip install 'sdpa-workbench\[search\]'"):
        small.tune(**TUNE, strategy="tpe", evaluations=3)
    assert small.held  # nothing was stopped: the session goes on
    assert [e["type"] for e in events(small.folder)].count("iteration_opened") == 1
    assert small.tune(**TUNE, strategy="random", evaluations=1).iteration == 1


def test_the_command_line_has_no_optuna(wb):
    wb.open_small()
    words = ["--variant", "cpu_tiled", "--hypothesis", "x", "--predicted-speedup", "1.1"]
    told = wb.run("tune", "--session", "s", *words, "--strategy", "tpe", check=2)
    assert "only a Python program can ask Optuna" in told.stderr
