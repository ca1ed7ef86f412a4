# SPDX-License-Identifier: MIT
"""Optuna's samplers as strategies of `tune`.

The engine asks and tells: it alone knows the restrictions, refuses what was asked before, compares,
and keeps the log. Here a study of Optuna hears the answers and proposes. The study is nowhere
stored: the engine tells a resumed search its log again, and the same answers in the same order give
the same proposals. Needs the extra `[search]`.
"""

from __future__ import annotations

import contextlib
import importlib
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from . import errors

Configuration = dict[str, int]

# What each strategy imports: itself, and what its sampler loads when it is first asked.
NEEDS = {"tpe": ("optuna",), "cma_es": ("optuna", "cmaes"), "gp": ("optuna", "scipy", "torch")}


def _needed(strategy: str) -> Any:
    """Imports Optuna with all that the strategy needs. Raises UsageError if something is
    missing."""
    for name in NEEDS[strategy]:
        try:
            importlib.import_module(name)
        except ImportError as fault:
            details = {
                "attempted": "start the strategy",
                "subject": strategy,
                "cause": f"it needs {name}, which cannot be imported ({fault})",
                "next": "pip install 'sdpa-workbench[search]', or take random, hill_climb, racing "
                "or exhaustive",
            }
            message = "cannot {attempted} {subject}: {cause}; {next}".format(**details)
            raise errors.UsageError(message, details=details) from fault
    return importlib.import_module("optuna")


@contextlib.contextmanager
def _quiet(optuna: Any) -> Iterator[None]:
    """Turns off Optuna's line for each study; a level that the user set is restored."""
    level = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
            yield
    finally:
        optuna.logging.set_verbosity(level)


def _sampler(optuna: Any, strategy: str, seed: int, in_flight: int) -> Any:
    """Optuna's defaults, except for parameters that depend on each other, as those of kernels
    do."""
    if strategy == "tpe":
        return optuna.samplers.TPESampler(seed=seed, multivariate=True, constant_liar=in_flight > 1)
    if strategy == "cma_es":
        return optuna.samplers.CmaEsSampler(seed=seed, warn_independent_sampling=False)
    return optuna.samplers.GPSampler(seed=seed)


class Search:
    """One study. Each parameter is the index of its value in the ascending list: then values such
    as 8, 16, 32 are equal steps, and every sampler accepts it. The study minimizes the logarithm of
    the time; a configuration without a time is a failed trial."""

    def __init__(
        self,
        strategy: str,
        parameters: Mapping[str, Sequence[int]],
        seed: int,
        in_flight: int = 1,
    ):
        self._optuna = _needed(strategy)
        self._values = {name: list(values) for name, values in parameters.items()}
        self._distributions = {
            name: self._optuna.distributions.IntDistribution(0, len(values) - 1)
            for name, values in self._values.items()
        }
        self._open: dict[tuple[int, ...], list[Any]] = {}
        with _quiet(self._optuna):
            sampler = _sampler(self._optuna, strategy, seed, in_flight)
            self._study = self._optuna.create_study(sampler=sampler)
        self.about = f"Optuna {self._optuna.__version__}, {type(sampler).__name__}"

    def propose(self) -> Configuration:
        """The next configuration, which restrictions may exclude or which may be a repetition."""
        with _quiet(self._optuna):
            trial = self._study.ask(self._distributions)
        self._open.setdefault(self._key(trial.params), []).append(trial)
        return {name: self._values[name][place] for name, place in trial.params.items()}

    def tell(self, configuration: Mapping[str, int], log_time: float | None) -> None:
        """Records a result, None without a time; also for configurations that were not proposed."""
        params = {name: self._values[name].index(value) for name, value in configuration.items()}
        state = self._optuna.trial.TrialState
        state = state.FAIL if log_time is None else state.COMPLETE
        trials = self._open.pop(self._key(params), [])
        with _quiet(self._optuna):
            for trial in trials:
                self._study.tell(trial, log_time, state=state)
            if not trials:
                self._study.add_trial(
                    self._optuna.trial.create_trial(
                        params=params, distributions=self._distributions, value=log_time,
                        state=state,
                    )
                )  # fmt: skip

    def _key(self, params: Mapping[str, int]) -> tuple[int, ...]:
        return tuple(params[name] for name in self._values)
