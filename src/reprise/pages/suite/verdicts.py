"""Judgements: what the runs of a suite say about a claim."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from reprise.findings import statistics
from reprise.findings.gathered import Gathered
from reprise.findings.milestones import heights
from reprise.findings.tables import numbers
from reprise.pages.chart import Numbers
from reprise.pages.suite import curves, promises, studies, use
from reprise.pages.suite.milestones import interval, judged
from reprise.pages.words import number, percent

AGREES, DIFFERS, OPEN, NONE = "agrees", "differs", "open", "no test"
LEVEL = 0.05
MARGIN = 0.1
"""Curves whose mean heights differ by no more than this are alike."""


class Evidence(NamedTuple):
    """All that a judgement may look at."""

    found: Gathered
    areas: dict[str, dict[str, Numbers]]
    """By line and task: the mean height of each complete run's success curve."""


class Finding(NamedTuple):
    """What came out here, and what it says about the claim."""

    here: str
    verdict: str


UNFINISHED = Finding("no task has complete runs of both", OPEN)


def look(found: Gathered) -> Evidence:
    """Everything in one place."""
    areas: dict[str, dict[str, Numbers]] = {}
    for bundle in judged(found):
        areas.setdefault(bundle.label, {})[bundle.task] = heights(bundle.steps, bundle.runs)
    return Evidence(found, areas)


def above(evidence: Evidence, ours: str, theirs: str) -> Finding | None:
    """Whether runs of one line beat those of another, with an interval."""
    mine, yours = evidence.areas.get(ours, {}), evidence.areas.get(theirs, {})
    idle = _without_priors(evidence.found, ours)
    tasks = [task for task in mine if task in yours and task not in idle]
    if not tasks:
        return _unfinished(evidence.found, ours, theirs)
    above = sum(mine[task].mean() > yours[task].mean() for task in tasks)
    tested = _test([mine[task] for task in tasks], [yours[task] for task in tasks])
    return Finding(f"higher on {above} of {len(tasks)} tasks; {tested.here}", tested.verdict)


def _test(ours: Sequence[Numbers], theirs: Sequence[Numbers]) -> Finding:
    """Task by task: are runs of the first likelier to be higher, beyond interval and chance."""
    better = statistics.improvement_interval(ours, theirs, np.random.default_rng(curves.SEED))
    p = statistics.improvement_p_value(ours, theirs, np.random.default_rng(curves.SEED))
    # The interval alone is sure of two runs against two: redrawn, they are as far apart again.
    leaning = AGREES if better.low > 0.5 else DIFFERS if better.high < 0.5 else OPEN
    verdict = leaning if p <= LEVEL else OPEN
    return Finding(f"probability {interval(*better)}, p = {number(p)}", verdict)


def alike(evidence: Evidence, ours: str, theirs: str) -> Finding | None:
    """Whether two lines are as high as each other, as far as the interval can tell."""
    mine, yours = evidence.areas.get(ours, {}), evidence.areas.get(theirs, {})
    tasks = [task for task in mine if task in yours]
    if not tasks:
        return _unfinished(evidence.found, ours, theirs)
    pairs = [mine[task] for task in tasks], [yours[task] for task in tasks]
    value, low, high = statistics.difference_interval(*pairs, np.random.default_rng(curves.SEED))
    p = statistics.improvement_p_value(*pairs, np.random.default_rng(curves.SEED))
    apart, within = (low > 0.0 or high < 0.0) and p <= LEVEL, low >= -MARGIN and high <= MARGIN
    heights = [percent(_height(own, tasks)) for own in (mine, yours)]
    here = f"mean heights {heights[0]} and {heights[1]}, difference {100 * value:+.1f} points"
    if np.isfinite(low):  # single runs cannot tell
        here += f" [{100 * low:+.1f}, {100 * high:+.1f}]"
    return Finding(here, DIFFERS if apart else AGREES if within else OPEN)


def _height(own: dict[str, Numbers], tasks: Iterable[str]) -> float:
    """The mean of a line over tasks, however many runs each has."""
    return float(np.mean([own[task].mean() for task in tasks]))


def _unfinished(found: Gathered, ours: str, theirs: str) -> Finding | None:
    """Lines of which runs have begun, but which no task has complete runs of."""
    begun = found.curves.dropna(subset=["success_any"])
    mine, yours = (set(begun.loc[begun["label"] == name, "task"]) for name in (ours, theirs))
    if not mine & yours - _without_priors(found, ours):
        return None
    return UNFINISHED


def _without_priors(found: Gathered, label: str) -> set[str]:
    """Tasks on which a line that reuses elsewhere had nothing to reuse: the first of a row."""
    own = found.cells[found.cells["label"].eq(label) & ~found.cells["method"].eq("scratch")]
    bare = own["priors"].eq("none") & own["needs"].eq("")
    return set(own.loc[bare, "task"])


def only_one_above_scratch(evidence: Evidence) -> Finding | None:
    """Whose mean is above Scratch's on every task, without a test."""
    labels = dict.fromkeys(map(str, evidence.found.cells["label"]))
    scratch, rivals = evidence.areas.get("scratch"), [n for n in labels if n != "scratch"]
    if not scratch or len(rivals) < 2:
        return None
    # A line without runs would be above on every one of its no tasks.
    if any(set(evidence.areas.get(name, ())) != set(scratch) for name in rivals):
        return Finding("not every line has complete runs on the same tasks", OPEN)
    own = evidence.areas
    above = [n for n in rivals if all(own[n][t].mean() > scratch[t].mean() for t in scratch)]
    return Finding(f"mean above on all of {len(scratch)}: {', '.join(above) or 'none'}", NONE)


def height_of_settings(evidence: Evidence) -> Finding | None:
    """How high each setting is on the tasks that all have; that they are alike has no test."""
    if len(evidence.areas) < 2:
        return None
    tasks = set.intersection(*(set(own) for own in evidence.areas.values()))
    if not tasks:
        return Finding("no task has complete runs of every setting", NONE)
    lines = evidence.areas.items()
    heights = ", ".join(f"{name} {percent(_height(own, tasks))}" for name, own in lines)
    return Finding(f"mean heights: {heights}", NONE)


def weaned(evidence: Evidence) -> Finding | None:
    """Whether priors act less in the second half of training, task by task."""
    table = use.by_tenth(_complete(evidence.found))
    table = table[table["label"].eq("smec")].dropna()
    if table.empty:
        return None
    shares = table[list(range(1, use.TENTHS + 1))].to_numpy(np.float64)
    first, second = shares[:, :5].mean(axis=1), shares[:, 5:].mean(axis=1)
    less = int((second < first).sum())
    here = f"on {less} of {len(first)} tasks; {percent(first.mean())} of the steps in the first "
    here += f"half of training, {percent(second.mean())} in the second"
    return Finding(here, AGREES if less == len(first) else DIFFERS if less == 0 else OPEN)


def _complete(found: Gathered) -> Gathered:
    """The same without what unfinished runs have recorded of their beginning."""
    done = found.cells.loc[found.cells["state"].eq("complete"), "cell"]
    return found._replace(use=found.use[found.use["cell"].isin(done)])


def price(evidence: Evidence) -> Finding | None:
    """The time of SMEC in multiples of Scratch's."""
    table = studies.prices(evidence.found)
    times = numbers(table[table["label"].eq("smec")].dropna(subset=["times_scratch"]),
                    "times_scratch")  # fmt: skip
    if not times.size:
        return None
    return Finding(f"{number(times.mean())} times, mean over {len(times)} tasks", NONE)


def goal_never_reached(evidence: Evidence) -> Finding | None:
    """Whether any prior alone succeeds in an ant maze."""
    alone = evidence.found.zero_shot
    ants = numbers(alone[alone["task"].astype(str).str.startswith("antmaze/")], "success_any")
    if not ants.size:
        return None
    best = float(ants.max())
    return Finding(f"the best reaches it in {percent(best)}", DIFFERS if best else AGREES)


def truer_with_short_horizons(evidence: Evidence) -> Finding | None:
    """Whether the heads of runs with full horizons are farther off, over the size of what came."""
    lines, errors = ("smec", "smec/no-truncation"), promises.relative_errors(evidence.found)
    if not set(lines) <= set(evidence.found.values["label"]):
        return None
    short, full = (errors.get(line, {}) for line in lines)
    tasks = [task for task in short if task in full]
    if not tasks:
        return UNFINISHED
    tested = _test([full[task] for task in tasks], [short[task] for task in tasks])
    means = [_height(own, tasks) for own in (short, full)]
    here = f"error over mean return: {number(means[0])} with short horizons, {number(means[1])} "
    return Finding(f"{here}without; larger without: {tested.here}", tested.verdict)
