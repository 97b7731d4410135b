"""Where policies acted, on tasks that have places."""

from __future__ import annotations

from functools import partial

import pandas as pd

from reprise.findings.gathered import Gathered
from reprise.pages.chart import Drawn, Panel, Table
from reprise.pages.episodes import telling
from reprise.pages.mazes import MAZE_EPISODES, maze_paths
from reprise.pages.suite.use import name_of, paint, shown
from reprise.tasks import picture


def panel(found: Gathered) -> Panel | None:
    """A few paths from early to late training, of the first seed that recorded any."""
    pairs = shown(found.tracks) if len(found.tracks) else []
    charts: list[Drawn] = []
    drawn: list[pd.DataFrame] = []
    for task, label in pairs:
        own = found.tracks[(found.tracks["task"] == task) & (found.tracks["label"] == label)]
        tracks = own[own["cell"] == own["cell"].iloc[0]]
        some = tracks[tracks["episode"].isin(telling(tracks, MAZE_EPISODES))]
        draw = partial(maze_paths, some, picture(task), paint(found))
        charts.append(Drawn(name_of(task, label, pairs), draw))
        drawn.append(some[COLUMNS])
    if not charts:
        return None
    table = Table("paths", "The paths", pd.concat(drawn))
    return Panel("where", "Where each policy acted", CAPTION, {"": tuple(charts)}, (table,))


COLUMNS = ["task", "label", "seed", "step", "episode", "t", "policy", "x", "y"]
CAPTION = (
    "Paths of training episodes from early to late, the first successes with the help of a prior "
    "among them, colored by the policy that acted; gray is the random warm-up, and a white dot is "
    "a hand-over. Of several seeds the first is shown."
)
