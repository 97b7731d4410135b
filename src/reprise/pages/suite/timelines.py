"""When control changed hands: some episodes of each stage of training."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from reprise.findings.gathered import Gathered
from reprise.pages.chart import Panel, Stage, Table, Timeline
from reprise.pages.episodes import Episode, Stretch, control, numbered
from reprise.pages.suite.use import name_of, paint, shown
from reprise.pages.words import count
from reprise.runs.schema import TRACKS

STAGES, EPISODES = 8, 4
"""Stages of training on a timeline, and episodes of each."""


def panel(found: Gathered) -> Panel | None:
    """Switches within episodes, one stage of training after another."""
    pairs = shown(found.switches) if len(found.switches) else []
    reached = dict(zip(found.cells["cell"], found.cells["step"], strict=True))
    charts: list[Timeline] = []
    for task, label in pairs:
        own = (found.switches["task"] == task) & (found.switches["label"] == label)
        cell = found.switches.loc[own, "cell"].iloc[0]
        charts.append(
            _timeline(name_of(task, label, pairs), found.switches[found.switches["cell"] == cell],
                      float(reached[cell]), paint(found))
        )  # fmt: skip
    if not charts:
        return None
    table = Table("switches", "The episodes of the timelines", pd.concat(map(_listed, charts)))
    return Panel("switches", "When control changed hands", TIMES, {"": tuple(charts)}, (table,))


TIMES = (
    "Each row is one training episode read from left to right; its color is the policy in control, "
    "gray the end of the random warm-up. Move the slider from the beginning of training to its "
    "end. Of several seeds the first is shown."
)


def _timeline(title: str, switches: pd.DataFrame, reached: float, ink: dict[str, str]) -> Timeline:
    parts = _stages(switches, reached)
    episodes = [episode for part in parts for episode in part]
    acting = {s.policy for e in episodes for s in e.stretches}
    longest = max(e.stretches[-1].end for e in episodes)
    painted = {name: ink[name] for name in ink if name in acting}
    return Timeline(title, tuple(map(_stage, parts)), painted, longest)


def _stages(switches: pd.DataFrame, reached: float) -> list[list[Episode]]:
    """A few episodes in a row at each stage; stages are closer at first, when most happens."""
    nowhere = pd.DataFrame(columns=list(TRACKS.single))
    known = numbered(switches)
    # The episode after the last one of a stage tells when that one ended.
    last = max(0, len(known) - EPISODES - 1)
    begins = sorted({round(last * (i / (STAGES - 1)) ** 2) for i in range(STAGES)})
    some = [known[begin : begin + EPISODES + 1] for begin in begins]
    tables = [switches[switches["episode"].isin(numbers)] for numbers in some]
    return [control(table, nowhere, EPISODES + 1, reached)[:EPISODES] for table in tables]


def _stage(episodes: Sequence[Episode]) -> Stage:
    rows = tuple((f"episode {e.number}", _merged(e.stretches)) for e in episodes)
    return Stage(f"from step {count(episodes[0].step)}", rows)


def _merged(parts: Sequence[Stretch]) -> tuple[Stretch, ...]:
    """Neighbors of the same policy as one."""
    result: list[Stretch] = []
    for part in parts:
        if result and result[-1].policy == part.policy:
            result[-1] = result[-1]._replace(end=part.end)
        else:
            result.append(part)
    return tuple(result)


def _listed(chart: Timeline) -> pd.DataFrame:
    return pd.DataFrame(
        [
            {"timeline": chart.title, "stage": stage.name, "episode": name, **part._asdict()}
            for stage in chart.stages
            for name, parts in stage.episodes
            for part in parts
        ]
    )
