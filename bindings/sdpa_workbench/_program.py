# SPDX-License-Identifier: MIT
"""What the engine asks of the Python program around it (workbench/search/program.hpp)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from . import errors
from ._remote_evaluator import RemoteEvaluator
from ._search import Search


class Program:
    """Answers for one call of a verb, in the thread that called. An error of the workbench is the
    verb's answer; any other exception stops the verb in order and is raised."""

    def __init__(
        self,
        evaluator: RemoteEvaluator | None = None,
        make_search: Callable[..., Search] = Search,
    ) -> None:
        self._searches: list[Search] = []
        self._make_search = make_search
        self._evaluator = evaluator

    def __call__(self, question: Mapping[str, Any]) -> dict[str, Any]:
        try:
            return getattr(self, "_" + question["ask"])(question)
        except errors.WorkbenchError as fault:
            return {"error": {"code": fault.code, "cause": fault.message} | fault.details}

    def _search(self, question: Mapping[str, Any]) -> dict[str, Any]:
        words = ("strategy", "parameters", "seed", "in_flight")
        search = self._make_search(*(question[word] for word in words))
        self._searches.append(search)
        return {"search": len(self._searches) - 1, "about": search.about}

    def _propose(self, question: Mapping[str, Any]) -> dict[str, Any]:
        search = self._searches[question["search"]]
        for told in question["told"]:
            search.tell(told["configuration"], told["log_time"])
        return {"configurations": [search.propose() for _ in range(question["want"])]}

    def _crew_size(self, question: Mapping[str, Any]) -> dict[str, Any]:
        return {"in_flight": self._evaluator.in_flight if self._evaluator else 0}

    def _evaluate(self, question: Mapping[str, Any]) -> dict[str, Any]:
        assert self._evaluator is not None
        self._evaluator.start(question["number"], question["request"])
        return {}

    def _replies(self, question: Mapping[str, Any]) -> dict[str, Any]:
        assert self._evaluator is not None
        return {"replies": self._evaluator.ended(question["patience_s"])}

    def _cancel(self, question: Mapping[str, Any]) -> dict[str, Any]:
        assert self._evaluator is not None
        self._evaluator.cancel()
        return {}
