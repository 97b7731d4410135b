"""Which episodes' paths are kept, and which of them a picture shows."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd

from reprise.core.types import Episode
from reprise.pages.episodes import paths, telling
from reprise.runs.recorder import HELPED, TRACKED, Recorder

STEPS = 100 * TRACKED
"""Of a run: every hundred steps a path is kept in any case."""


def episode(number: int, sources: list[int], success: float) -> Episode:
    """One of two steps, right after the one before."""
    path = np.zeros((len(sources), 2), np.float32)
    ended = 2 * (number + 1)
    return Episode(number, ended, 0.0, 0.0, 2, success, success, 0, np.asarray(sources), path)


def recorder(folder: Path) -> Recorder:
    """Of a run of two policies on a task with places."""
    folder.mkdir(exist_ok=True)
    schedule = SimpleNamespace(value_states=0, log_every=1)
    run: Any = SimpleNamespace(policies=("task", "old"), steps=STEPS, schedule=schedule)
    loop: Any = SimpleNamespace(arena=SimpleNamespace(mishaps=()), step=0)
    return Recorder(folder, run, loop, tensorboard=False)


def tell(recorder: Recorder, *episodes: Episode) -> None:
    progress: Any = SimpleNamespace(selections=(), episodes=episodes, scheduled=False)
    recorder.progress(progress, 0.0)


def kept(folder: Path) -> list[int]:
    return [int(number) for number in pd.read_csv(folder / "tracks.csv")["episode"].unique()]


def test_the_first_successes_with_help_are_kept_in_any_case(tmp_path: Path) -> None:
    own, helped, vain = ([0, 0], 1.0), ([0, 1], 1.0), ([1, 1], 0.0)
    some = [own, vain, *[helped] * (HELPED + 2), own]
    whole = recorder(tmp_path)
    tell(whole, *(episode(n, *one) for n, one in enumerate(some)))
    whole.close()
    assert kept(tmp_path) == [0, *range(2, 2 + HELPED)], "the first of all, and those with help"
    table = pd.read_csv(tmp_path / "tracks.csv")
    assert set(table.loc[table["episode"] == 2, "success"]) == {1.0}


def test_a_resumed_run_keeps_as_many(tmp_path: Path) -> None:
    first = recorder(tmp_path)
    tell(first, *(episode(n, [0, 1], 1.0) for n in range(HELPED)))
    sizes = first.settle()
    tell(first, episode(HELPED, [0, 1], 1.0))
    first.close()
    again = recorder(tmp_path)
    again.rewind(sizes, over=False)
    tell(again, *(episode(n, [0, 1], 1.0) for n in range(HELPED, HELPED + 3)))
    again.close()
    whole = recorder(tmp_path / "whole")
    tell(whole, *(episode(n, [0, 1], 1.0) for n in range(HELPED + 3)))
    whole.close()
    one, other = tmp_path / "tracks.csv", tmp_path / "whole" / "tracks.csv"
    assert one.read_bytes() == other.read_bytes()


def table(*episodes: tuple[str, float]) -> pd.DataFrame:
    """Paths of two steps, each with who acted and whether it succeeded."""
    rows = [
        {"episode": n, "step": 2 * n, "t": t, "x": 0.0, "y": 0.0, "policy": who, "success": success}
        for n, (who, success) in enumerate(episodes)
        for t in (0, 1)
    ]
    return pd.DataFrame(rows)


def test_a_picture_shows_early_to_late_and_the_first_successes_with_help() -> None:
    some = [("random", 0.0)] * 5 + [("task", 1.0), ("old", 1.0), ("old", 1.0), ("old", 1.0)]
    chosen = telling(table(*some, *[("task", 1.0)] * 12), 6)
    assert {6, 7} <= set(chosen)
    assert chosen == sorted(chosen) and len(chosen) == 6
    assert chosen[0] == 0 and chosen[-1] == 20
    assert telling(table(*[("task", np.nan)] * 3), 6) == [0, 1, 2]
    assert [path.success for path in paths(table(*some), [0, 5])] == [False, True]
