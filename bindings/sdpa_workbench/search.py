# SPDX-License-Identifier: MIT
"""Strategies, the engine's own and Optuna's (extra `[search]`), tried on a recorded space."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike, fspath
from typing import Any

from ._loaded import _core
from ._program import Program
from ._search import Configuration, Search

__all__ = ["Configuration", "Search", "simulate"]


def simulate(
    recording: str | PathLike[str],
    *,
    strategy: str,
    seed: int = 1,
    evaluations: int | None = None,
    start: Mapping[str, int] | None = None,
) -> dict[str, Any]:
    """Runs a strategy, the engine's or Optuna's, on a recorded space (docs/guide/simulation.md).

    Nothing is built or measured. `seed` is that of the strategy and of which recorded processes it
    sees; `start` is asked first. Answers `space_size`, `optimum_us` (median, us), `proposer`,
    simulated `elapsed_s` (s) and `steps`: one an answer with `configuration`, `outcome`, and of
    what looks best then `promising_us` (us) and `fraction_of_optimum` (ratio).
    """
    options: dict[str, Any] = {"strategy": strategy, "seed": seed}
    if evaluations is not None:
        options["evaluations"] = evaluations
    if start is not None:
        options["start"] = dict(start)
    return _core.simulate(fspath(recording), options, Program(make_search=Search))
