"""Who acted: areas over training, shares for each set of priors, switches within episodes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from reprise.atlas.chart import Areas, Bars, Group, Panel, Stage, Table, Timeline
from reprise.gather import Gathered
from reprise.report.crowd import lump
from reprise.report.episodes import Episode, Stretch, control, numbered
from reprise.report.palette import PRIORS, colors
from reprise.report.tables import COLUMNS
from reprise.report.wording import count

STAGES, EPISODES = 8, 4
"""Stages of training on a timeline, and episodes of each."""


def paint(found: Gathered) -> dict[str, str]:
    """One color for each policy: in order of appearance, or of use if they are many."""
    acted = found.use.groupby("policy", sort=False)["share"].sum()
    names = [str(name) for name in acted.index]
    if len(names) > len(PRIORS) + 1:
        names = sorted(names, key=lambda name: -float(acted[name]))
    return colors(names)


def shown(table: pd.DataFrame) -> list[tuple[str, str]]:
    """Task and line of what is drawn: every SMEC, or else each task's first that reuses."""
    pairs = list(dict.fromkeys(zip(table["task"], table["label"], table["method"], strict=True)))
    ours = [(str(t), str(n)) for t, n, method in pairs if str(method).startswith("smec")]
    first = {str(task): str(label) for task, label, _ in reversed(pairs)}
    return ours + [(t, n) for t, n in first.items() if t not in {task for task, _ in ours}]


def name_of(task: str, label: str, pairs: Sequence[tuple[str, str]]) -> str:
    """The task, and which line where it has several."""
    alone = sum(other == task for other, _ in pairs) == 1
    return task if alone and label == "smec" else f"{task}: {label}"


def areas(found: Gathered) -> Panel | None:
    """The share of steps on which each policy acted, along training."""
    reusing = found.use[~found.use["method"].eq("scratch")]
    pairs = shown(reusing) if len(reusing) else []
    ink, charts = paint(found), list[Areas]()
    for task, label in pairs:
        rows = reusing[(reusing["task"] == task) & (reusing["label"] == label)]
        mean = rows.pivot_table(index="step", columns="policy", values="share", sort=False)
        mean = mean.sort_index().fillna(0.0)
        names, layers = lump([str(n) for n in mean.columns], mean.to_numpy(np.float64))
        idle = np.clip(1.0 - layers.sum(axis=1), 0.0, None)
        everyone = dict(zip([*names, "random"], [*layers.T, idle], strict=True))
        acting = {n: np.append(layer[:1], layer) for n, layer in everyone.items() if layer.any()}
        # An interval's share holds from its beginning, so the first one begins at zero.
        steps = np.append(0.0, mean.index.to_numpy(np.float64))
        charts.append(Areas(name_of(task, label, pairs), steps, acting, ink))
    if not charts:
        return None
    return Panel("utilization", "Who was in control", AREAS, {"": tuple(charts)}, (_used(reusing),))


AREAS = (
    "The height of a color is the share of training steps on which that policy chose the action, "
    "averaged over seeds; gray is the random warm-up."
)


def _used(reusing: pd.DataFrame) -> Table:
    keys = ["task", "label", "step", "policy"]
    means = reusing.groupby(keys, sort=False)["share"].agg(["mean", "std", "count"]).reset_index()
    return Table("utilization", "Share of steps", means.rename(columns={"count": "runs"}))


def settings(found: Gathered) -> Panel | None:
    """Whom the same task used, given different priors: only where a suite varies them."""
    reusing = found.use[~found.use["method"].eq("scratch")]
    varied = [
        str(task) for task, rows in reusing.groupby("task", sort=False)
        if rows["label"].nunique() > 1 and rows["priors"].nunique() == rows["label"].nunique()
    ]  # fmt: skip
    if not varied:
        return None
    shares = (
        reusing[reusing["task"].isin(varied)]
        .groupby(["task", "label", "priors", "policy"], sort=False)["share"]
        .mean()
        .reset_index()
    )
    ink = paint(found)
    charts = tuple(_stack(task, shares[shares["task"] == task], ink) for task in varied)
    table = Table("prior-sets", "Share of all steps", shares)
    return Panel("prior-sets", "Different priors", SETS, {"": charts}, (table,))


SETS = (
    "For each set of priors, the share of all training steps on which each policy acted; what is "
    "missing to 100 % is the random warm-up. The learning curves above compare the same sets."
)


def _stack(task: str, shares: pd.DataFrame, ink: dict[str, str]) -> Bars:
    table = shares.pivot_table(index="label", columns="policy", values="share", sort=False)
    table = table.fillna(0.0)
    names, layers = lump([str(n) for n in table.columns], table.to_numpy(np.float64))
    groups = tuple(Group(n, ink[n], layer) for n, layer in zip(names, layers.T, strict=True))
    return Bars(task, tuple(str(label) for label in table.index), groups, stacked=True)


def timelines(found: Gathered) -> Panel | None:
    """Switches within episodes, one stage of training after another."""
    pairs = shown(found.switches) if len(found.switches) else []
    charts: list[Timeline] = []
    for task, label in pairs:
        own = (found.switches["task"] == task) & (found.switches["label"] == label)
        cell = found.switches.loc[own, "cell"].iloc[0]
        charts.append(
            _timeline(name_of(task, label, pairs), found.switches[found.switches["cell"] == cell],
                      paint(found))
        )  # fmt: skip
    if not charts:
        return None
    table = Table("switches", "The episodes of the timelines", pd.concat(map(_listed, charts)))
    return Panel("switches", "When control changed hands", TIMES, {"": tuple(charts)}, (table,))


TIMES = (
    "Each row is one training episode read from left to right; its color is the policy in control. "
    "Move the slider from the beginning of training to its end: priors come in early and are left "
    "when the task policy is better. Of several seeds the first is shown."
)


def _timeline(title: str, switches: pd.DataFrame, ink: dict[str, str]) -> Timeline:
    parts = _stages(switches)
    episodes = [episode for part in parts for episode in part]
    acting = {s.policy for e in episodes for s in e.stretches}
    longest = max(e.stretches[-1].end for e in episodes)
    painted = {name: ink[name] for name in ink if name in acting}
    return Timeline(title, tuple(map(_stage, parts)), painted, longest)


def _stages(switches: pd.DataFrame) -> list[list[Episode]]:
    """A few episodes in a row at each stage; stages are closer at first, when most happens."""
    nowhere = pd.DataFrame(columns=COLUMNS["tracks"].split())
    known = numbered(switches)
    # The episode after the last one of a stage tells when that one ended.
    last = max(0, len(known) - EPISODES - 1)
    begins = sorted({round(last * (i / (STAGES - 1)) ** 2) for i in range(STAGES)})
    some = [known[begin : begin + EPISODES + 1] for begin in begins]
    tables = [switches[switches["episode"].isin(numbers)] for numbers in some]
    return [control(table, nowhere, EPISODES + 1)[:EPISODES] for table in tables]


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
