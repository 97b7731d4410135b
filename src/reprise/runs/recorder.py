"""What a run writes down while it runs: CSV tables that a resume continues without a seam."""

from __future__ import annotations

import csv
import io
import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from reprise.boundary import files
from reprise.core.types import Episode, Selection
from reprise.runs import schema
from reprise.runs.recipe import Run
from reprise.runs.schema import METRICS, SWITCHES, TABLES, VALUES
from reprise.training.evaluate import Evaluation
from reprise.training.loop import Progress
from reprise.training.state import Loop
from reprise.training.value_accuracy import Compared

TRACKED = 50
"""Episodes whose path is kept, spread evenly over a run."""
HELPED = 5
"""The first successful episodes in which a prior acted, whose path is kept in any case."""


def cell(value: Any) -> Any:
    """A number as written; nothing where there is none (NaN, or the bonus of an untried policy)."""
    if isinstance(value, float):
        return f"{value:.6g}" if math.isfinite(value) else ""
    return value


class Table:
    """A CSV file with a header, appended row by row."""

    def __init__(self, path: Path, columns: Sequence[str]) -> None:
        self.path, self.columns = path, tuple(columns)
        if not path.exists():
            files.write_text(path, self._line(self.columns))
        self._file = path.open("a", newline="")
        self._lasting: int | None = None

    def add(self, row: Mapping[str, Any], *, lasting: bool = True) -> None:
        """One more row; unless it is lasting, it goes when the run goes on."""
        if not lasting and self._lasting is None:
            self._lasting = self._file.tell()
        self._file.write(self._line([cell(row.get(name, "")) for name in self.columns]))

    def _line(self, cells: Sequence[Any]) -> str:
        buffer = io.StringIO()
        csv.writer(buffer, lineterminator="\n").writerow(cells)
        return buffer.getvalue()

    def flush(self) -> None:
        """Let readers see every row."""
        self._file.flush()

    def settle(self) -> int:
        """Force all rows to disk; the size up to which a checkpoint vouches for them."""
        self._file.flush()
        os.fsync(self._file.fileno())
        return self._file.tell()

    @property
    def lasting(self) -> int:
        """The size without the rows that are there only because the run ends."""
        return self._file.tell() if self._lasting is None else self._lasting

    def rewind(self, size: int) -> None:
        """Forget the rows that a checkpoint does not vouch for."""
        self._file.truncate(size)
        self._file.seek(size)
        self._lasting = None

    def close(self) -> None:
        """No more rows."""
        self._file.close()


class Recorder:
    """The tables of a run folder, and the same numbers for TensorBoard."""

    def __init__(self, folder: Path, run: Run, loop: Loop, tensorboard: bool) -> None:
        names, mishaps = run.policies, loop.arena.mishaps
        self._names = (*names, "start")  # the predecessor of an episode's first selection
        self._step_of_next_track, self._helped = 0, 0
        self._steps, self._schedule = run.steps, run.schedule
        written = [one for one in TABLES if run.schedule.value_states or one is not VALUES]
        self.tables = {
            one.name: Table(folder / one.file, one.header(names, mishaps)) for one in written
        }
        self._events = _events(folder / "tensorboard", loop.step) if tensorboard else None

    def progress(self, progress: Progress, steps_per_second: float) -> None:
        """Everything that happened since the last report."""
        for selection in progress.selections:
            self._selection(selection)
        for episode in progress.episodes:
            self._track(episode)
        if progress.scheduled:
            row = {"step": progress.step, "steps_per_second": steps_per_second, **progress.metrics}
            row |= self._each(METRICS, use=progress.use, value=progress.value)
            whole = progress.step % self._schedule.log_every == 0
            self.tables["metrics"].add(row, lasting=whole)
            self._scalars("train", row, progress.step)
        for table in self.tables.values():
            table.flush()

    def evaluation(self, step: int, evaluation: Evaluation) -> None:
        """One row of eval.csv."""
        row, every = {"step": step, **evaluation._asdict()}, self._schedule.evaluate_every
        self.tables["eval"].add(row, lasting=bool(every) and step % every == 0)
        self.tables["eval"].flush()
        self._scalars("eval", row, step)

    def values(self, rows: Sequence[Compared]) -> None:
        """What was compared in one state, in values.csv."""
        for row in rows:
            self.tables["values"].add({**row._asdict(), "policy": self._names[row.policy]})
        self.tables["values"].flush()

    def _selection(self, selection: Selection) -> None:
        row: dict[str, Any] = {
            "step": selection.step,
            "episode": selection.episode,
            "t": selection.clock,
            "from": self._names[selection.previous],
            "to": self._names[selection.chosen],
        }
        row |= self._each(SWITCHES, score=selection.score, bonus=selection.bonus)
        self.tables["switches"].add(row)

    def _track(self, episode: Episode) -> None:
        """The path of an episode, if it is one of those that are kept."""
        if not len(episode.track):
            return
        helped = episode.success_any == 1.0 and bool((np.asarray(episode.sources) > 0).any())
        helped = helped and self._helped < HELPED
        self._helped += helped
        if episode.step >= self._step_of_next_track:
            interval = max(1, self._steps // TRACKED)
            self._step_of_next_track = (episode.step // interval + 1) * interval
        elif not helped:
            return
        facts = {"step": episode.step, "episode": episode.number, "success": episode.success_any}
        for t, (source, (x, y)) in enumerate(zip(episode.sources, episode.track, strict=True)):
            policy = "random" if source < 0 else self._names[source]
            place = {"t": t, "policy": policy, "x": round(float(x), 3), "y": round(float(y), 3)}
            self.tables["tracks"].add(facts | place)

    def _each(self, table: schema.Table, **columns: np.ndarray) -> dict[str, float]:
        """Numbers that every policy has, under their headers."""
        policies = self._names[:-1]
        return {
            header: float(number)
            for name, numbers in columns.items()
            for header, number in zip(table.of(name, policies), numbers, strict=True)
        }

    def _scalars(self, group: str, row: Mapping[str, Any], step: int) -> None:
        if self._events is None:
            return
        for name, value in row.items():
            if name != "step" and isinstance(value, int | float) and math.isfinite(value):
                self._events.add_scalar(f"{group}/{name}", value, step)
        self._events.flush()

    def settle(self) -> dict[str, Any]:
        """What a checkpoint needs to know of the tables."""
        sizes = {name: table.settle() for name, table in self.tables.items()}
        lasting = {name: table.lasting for name, table in self.tables.items()}
        tracks = {"next_track": self._step_of_next_track, "helped": self._helped}
        return sizes | tracks | {"lasting": lasting}

    def rewind(self, sizes: Mapping[str, Any], over: bool) -> None:
        """Back to the moment of a checkpoint; unless the run is over, without its last rows."""
        kept = sizes if over else sizes.get("lasting", sizes)
        for name, table in self.tables.items():
            table.rewind(kept[name])
        self._step_of_next_track = sizes["next_track"]
        self._helped = sizes.get("helped", HELPED)  # older checkpoints did not count them

    def restart(self) -> None:
        """Back to the headers: there was no checkpoint to continue from."""
        for table in self.tables.values():
            header = table._line(table.columns)  # pyright: ignore[reportPrivateUsage]
            table.rewind(len(header.encode()))

    def close(self) -> None:
        """No more rows."""
        for table in self.tables.values():
            table.close()
        if self._events is not None:
            self._events.close()


def _events(folder: Path, resumed_at: int) -> Any:
    """A TensorBoard writer; points after the checkpoint that is continued from are purged."""
    from tensorboardX import SummaryWriter

    return SummaryWriter(str(folder), purge_step=resumed_at or None)
