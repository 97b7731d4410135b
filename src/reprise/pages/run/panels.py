"""The figures of one run in reading order, each with a title, a caption and its excuse."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

from matplotlib.figure import Figure

from reprise.findings.tables import RunTables
from reprise.pages.cards import honesty
from reprise.pages.chart import Drawn, Panel, Table
from reprise.pages.mazes import maze_paths
from reprise.pages.run.accuracy import value_accuracy
from reprise.pages.run.figures import learning_curve, losses, utilization, values
from reprise.pages.run.scenes import timeline, transitions
from reprise.runs.schema import EVAL

if TYPE_CHECKING:
    from reprise.tasks.task import Picture


class Scene(NamedTuple):
    """What a panel is drawn from."""

    run: RunTables
    picture: Picture | None
    paint: Mapping[str, str]


@dataclass(frozen=True)
class Kind:
    """One figure of the report; `excuse` is said while the table it needs is empty."""

    slug: str
    title: str
    caption: str
    excuse: str
    needs: Literal["metrics", "eval", "switches", "tracks", "values"]
    draw: Callable[[Scene], Figure]

    tell: Callable[[RunTables], str] = lambda run: ""
    """What the figure comes to, in a sentence."""
    listed: Callable[[RunTables], tuple[Table, ...]] = lambda run: ()
    """The numbers behind it."""

    def panel(self, scene: Scene) -> Panel:
        """The figure of a run, or why there is none."""
        if not len(getattr(scene.run, self.needs)):
            return Panel(self.slug, self.title, self.caption, {}, note=self.excuse)
        charts = (Drawn(self.title, lambda: self.draw(scene)),)
        tables, note = self.listed(scene.run), self.tell(scene.run)
        return Panel(self.slug, self.title, self.caption, {"": charts}, tables, note)


def panels(scene: Scene) -> list[Panel]:
    """Everything that is said about one run."""
    return [kind.panel(scene) for kind in KINDS]


def overview(runs: Sequence[RunTables], paint: Mapping[str, str]) -> Panel:
    """The learning curves of several runs in one figure."""
    chart = Drawn("Learning curves", lambda: learning_curve(runs, paint))
    return Panel("all-runs", "Learning curves", LEARNING_CAPTION, {"": (chart,)})


def _evaluations(run: RunTables) -> tuple[Table, ...]:
    return (Table("evaluations", "Evaluations", run.eval[list(EVAL.single)]),)


LEARNING_CAPTION = (
    "Each evaluation runs the task policy on its own, without priors: taking its most likely "
    "action (solid), and sampling from the policy, as in training (thin, dashed). A level dashed "
    "line is the score of one prior on this task before any training."
)

KINDS: tuple[Kind, ...] = (
    Kind(
        "learning-curve",
        "Learning curve",
        LEARNING_CAPTION,
        "No evaluation has finished yet.",
        "eval",
        lambda scene: learning_curve([scene.run], scene.paint),
        listed=_evaluations,
    ),
    Kind(
        "who-was-in-control",
        "Who was in control",
        "The height of a color is the share of training steps on which that policy chose the "
        "action; gray is the random warm-up.",
        "No interval of training has been recorded yet.",
        "metrics",
        lambda scene: utilization(scene.run, scene.paint),
    ),
    Kind(
        "switch-timeline",
        "When control changed hands",
        "Each row is one training episode read from left to right, and each bar is one selection: "
        "its color is the policy that was chosen, its length how long it stayed in control; gray "
        "is the end of the random warm-up.",
        "No policy has been selected: the method does not select, or the run has not come to it.",
        "switches",
        lambda s: timeline(s.run.switches, s.run.tracks, s.picture, s.paint),
    ),
    Kind(
        "where",
        "Where each policy acted",
        "Paths of training episodes from early to late, colored by the policy that acted.",
        "No paths were recorded: the task has no position, or no episode has finished.",
        "tracks",
        lambda scene: maze_paths(scene.run.tracks, scene.picture, scene.paint),
    ),
    Kind(
        "who-follows-whom",
        "Who follows whom",
        "Counts of selections over the whole training: the row was in control before (start: the "
        "episode began), the column was chosen next, and each row adds up to 100 %.",
        "No policy has been selected: the method does not select, or the run has not come to it.",
        "switches",
        lambda scene: transitions(scene.run),
    ),
    Kind(
        "value-honesty",
        "Does the critic keep its promises?",
        "Left: what the critic predicts at the start of evaluation episodes against what those "
        "episodes returned; a blue line that leaves the black one behind is over-estimation (the "
        "prediction may include an entropy bonus, so a small gap is normal). Right: the mean score "
        "of each policy when a choice was made.",
        "No evaluation has finished yet.",
        "eval",
        lambda scene: values(scene.run, scene.paint),
        tell=honesty,
    ),
    Kind(
        "value-accuracy",
        "How accurate are the values?",
        "Every head at states that training visited, against the discounted return of its policy "
        "alone from the very same state, at the head's own discount. Each point is the mean over "
        "the states of one stretch of training. Left: a colored line above the black one is "
        "over-estimation. Right: the mean error and twice its standard error, without a band "
        "where a single state cannot tell.",
        "Not measured in this run: `--schedule.value-states 10` compares ten states per "
        "evaluation interval.",
        "values",
        lambda scene: value_accuracy(scene.run, scene.paint),
    ),
    Kind(
        "losses",
        "Losses",
        "What the optimizer saw, averaged over each interval of training.",
        "No interval of training has been recorded yet.",
        "metrics",
        lambda scene: losses(scene.run.metrics),
    ),
)
