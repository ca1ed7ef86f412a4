# SPDX-License-Identifier: MIT
"""What a running verb tells: to the logger, to your callback, to rich's or tqdm's bar."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

logger = logging.getLogger("sdpa_workbench")
logger.addHandler(logging.NullHandler())


@dataclass(frozen=True)
class Progress:
    """Where a running verb is. `done` of `total` steps of the stage; times in seconds (`left_s`: of
    the wall budget, else an estimate), `best_speedup` (ratio) of the incumbent over the start,
    `cost_usd` in USD, None where no rate was given, `is_list_price` where public prices made it."""

    stage: str
    what: str
    done: int
    total: int
    iteration: int
    best_speedup: float | None
    elapsed_s: float
    left_s: float | None
    cost_usd: float | None
    is_list_price: bool = False

    def __str__(self) -> str:
        counted = f" {self.done}/{self.total}" if self.total else ""
        return f"iteration {self.iteration}  {self.stage}{counted}  {self.what}"


Callback = Callable[[Progress], object]


class Listener:
    """What `_core` calls, in the thread that called the verb. An exception of the callback stops
    the verb as Ctrl-C does, and is raised."""

    def __init__(self, callback: Callback | None):
        self.callback = callback
        self.stage = ""

    def __call__(self, news: Mapping[str, Any]) -> None:
        news = dict(news)
        if news.pop("kind") == "milestone":
            logger.info("%s: %s", news.get("event"), news)
            return
        progress = Progress(**news)
        level = logging.DEBUG if progress.stage == self.stage else logging.INFO
        self.stage = progress.stage
        logger.log(level, "%s", progress)
        if self.callback is not None:
            self.callback(progress)


class _Bars:
    """One bar a stage; `make(stage, total)` gives an object with `move(progress)` and `close()`."""

    def __init__(self, make):
        self.make, self.bar, self.stage = make, None, None

    def __call__(self, progress: Progress) -> None:
        if (progress.iteration, progress.stage) != self.stage:
            self.close()
            self.stage = (progress.iteration, progress.stage)
            self.bar = self.make(progress)
        self.bar(progress)
        if progress.total and progress.done >= progress.total:
            self.close()

    def close(self) -> None:
        if self.bar is not None:
            self.bar(None)
        self.bar = self.stage = None


def _tqdm_bar(tqdm, progress: Progress):
    bar = tqdm(total=progress.total or None, desc=progress.stage, leave=False)

    def move(now: Progress | None) -> None:
        if now is None:
            bar.close()
            return
        bar.set_postfix_str(now.what, refresh=False)
        bar.update(now.done - bar.n)

    return move


def _rich_bar(rich, progress: Progress):
    bar = rich.Progress(transient=True)
    task = bar.add_task(progress.stage, total=progress.total or None)
    bar.start()

    def move(now: Progress | None) -> None:
        if now is None:
            bar.stop()
            return
        bar.update(task, completed=now.done, description=f"{now.stage} {now.what}")

    return move


def bar() -> Callback:
    """A progress callback that draws: by rich if present, else by tqdm.

    Raises ImportError where neither is installed.
    """
    try:
        import rich.progress as rich
    except ImportError:
        try:
            from tqdm.auto import tqdm
        except ImportError as fault:
            raise ImportError("a progress bar needs rich or tqdm: pip install rich") from fault
        return _Bars(lambda progress: _tqdm_bar(tqdm, progress))
    return _Bars(lambda progress: _rich_bar(rich, progress))
