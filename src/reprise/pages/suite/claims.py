"""What the paper says about a figure, and whether the runs here say the same."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import NamedTuple

import pandas as pd

from reprise.findings import statistics
from reprise.findings.gathered import Gathered, within
from reprise.pages.chart import Panel, Table
from reprise.pages.suite import verdicts
from reprise.pages.suite.verdicts import Evidence, Finding


class Claim(NamedTuple):
    """A sentence of the paper, and how it is judged; None if the runs for it are missing."""

    place: str
    says: str
    judge: Callable[[Evidence], Finding | None]


def panel(found: Gathered) -> Panel | None:
    """The claims about each suite that its runs, and those beside it, can speak to."""
    suites = list(dict.fromkeys(" ".join(found.cells["suites"]).split()))
    rows = [{"suite": suite} | row for suite in suites for row in _judged(suite, found)]
    if not rows:
        return None
    said = pd.DataFrame(rows)
    table = Table("claims", "The paper's claims", said if len(suites) > 1 else said.iloc[:, 1:])
    return Panel("claims", "What the paper says, and what was found", CAPTION, {}, (table,))


CAPTION = (
    "Only complete runs are judged. Lines are compared by the mean height of their success "
    "curves. A claim that one line is above another agrees if the 95 % interval of the "
    "probability that a run of it beats one of the other lies above 50 %, and differs if it lies "
    "below; but only if runs that change sides at random within each task are as far apart at "
    f"most {100 * verdicts.LEVEL:.0f} times in a hundred ({statistics.SHUFFLES:,} permutations), "
    "which three runs against three on a single task can never be. Otherwise it is open: too few "
    "runs, or no difference. That priors act less agrees if they do so in the second half of "
    "training on every task. Errors of values are compared in the same way as curves, run by run. "
    "That two lines are alike agrees if the 95 % interval of the difference of their mean heights "
    f"lies within {100 * verdicts.MARGIN:.0f} points of none, and differs if it leaves none out "
    "and so do the permutations, as above. "
    "Where there is no test, the numbers are for you to judge. The paper "
    "has no point mazes; there a row says whether its claim carries over."
)


def _judged(suite: str, found: Gathered) -> list[dict[str, str]]:
    own = found.cells["suites"].map(lambda names: not names or suite in str(names).split())
    evidence = verdicts.look(within(found, own))
    findings = [(claim, claim.judge(evidence)) for claim in _claims(suite, evidence)]
    return [
        {"in_the_paper": claim.place, "the_paper_says": claim.says, "here": finding.here,
         "verdict": finding.verdict}
        for claim, finding in findings if finding is not None
    ]  # fmt: skip


def _claims(suite: str, evidence: Evidence) -> list[Claim]:
    labels = evidence.found.cells["label"]
    others = [label for label in dict.fromkeys(map(str, labels)) if label != "smec"]
    if suite in ("main", "point"):
        return [*(_above("Figure 3", "smec", other) for other in others), ALONE, *SHARED]
    return [*BY_SUITE.get(suite, ()), *SHARED]


def _above(place: str, ours: str, theirs: str, says: str = "") -> Claim:
    sentence = says or f"{ours} is above {theirs}"
    return Claim(place, sentence, partial(verdicts.above, ours=ours, theirs=theirs))


def _alike(ours: str, theirs: str, says: str) -> Claim:
    judge = partial(verdicts.alike, ours=ours, theirs=theirs)
    return Claim("Eq. (1), in expectation", says, judge)


ALONE = Claim(
    "Figure 3", "SMEC alone is above Scratch on every task", verdicts.only_one_above_scratch
)
SHARED = (
    Claim("Figures 6, 13, 14", "priors act less as the task policy improves", verdicts.weaned),
)
SETS = tuple(
    _above("Figures 7, 15", more, less, f"more priors are better: {more} is above {less}")
    for less, more in pairwise(("set1", "set2", "set3", "set4"))
)
BY_SUITE: dict[str, tuple[Claim, ...]] = {
    "ablation-evaluation": (_above("Figures 4, 16", "smec", "smec/single-value"),),
    "ablation-horizon": (_above("Figures 4, 17", "smec", "smec/no-truncation"),),
    "ablation-ucb": (_above("Figures 4, 18", "smec", "smec/no-ucb"),),
    "sensitivity-h": (
        _above("Figures 5, 19", "h=H/10", "h=H/50", "an overly short h is worse: H/50 than H/10"),
        Claim("Figures 5, 19", "longer h are much alike", verdicts.height_of_settings),
    ),
    "sensitivity-c": (
        Claim("Figures 5, 20", "c from 1 to 50 has little influence", verdicts.height_of_settings),
    ),
    "random": (
        _above("Figure 23", "smec", "smec/random"),
        _above("Figure 23", "scratch", "smec/random"),
    ),
    "prior-sets": SETS,
    "value-accuracy": (
        Claim("Figure 24", "full horizons spoil the values", verdicts.truer_with_short_horizons),
    ),
    "continual": (
        _above("Figure 25", "smec", "scratch", "with earlier policies SMEC is above Scratch"),
    ),
    "sampled-heads": (
        _alike("smec sampled", "smec", "one prior head per transition learns as well as four"),
        _alike("smec sampled k=16", "smec k=16", "and as well as sixteen"),
        _alike("smec k=16", "smec", "twelve useless priors do no harm"),
    ),
    # Elsewhere runs share the cores, and their time says nothing.
    "cost": (
        Claim("Table 2", "SMEC takes 1.25 times the time of Scratch (box-close)", verdicts.price),
    ),
    "zero-shot": (
        Claim("Figure 12", "no prior reaches an ant maze's goal", verdicts.goal_never_reached),
    ),
}
