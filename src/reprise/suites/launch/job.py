"""One run of many: what a worker is told, as JSON, and what it leaves behind, as files."""

from __future__ import annotations

import json
import time
import traceback
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from reprise.boundary import files
from reprise.boundary.errors import FolderInUse, UserError
from reprise.priors import Priors, resolve
from reprise.runs import recipe
from reprise.runs.execute import Listener, execute
from reprise.runs.folder import Manifest
from reprise.runs.recipe import Run
from reprise.tasks import find

FAILURE = "failure.txt"
PATIENCE = 120.0
"""Seconds to wait for a worker of a killed launch that is still saving."""


class Job(NamedTuple):
    """A run to be made, and the runs that must be complete before it."""

    name: str
    run: Run
    """The recipe without priors, which may not exist before their own runs are over."""
    priors: tuple[str, ...]
    folder: Path
    needs: tuple[str, ...] = ()

    @property
    def message(self) -> str:
        """What a worker needs to know, wherever it is."""
        place, run = str(self.folder.absolute()), recipe.encode(self.run)
        return json.dumps({"folder": place, "priors": self.priors, "run": run})

    @property
    def complete(self) -> bool:
        """Whether there is nothing left to do."""
        return Manifest(self.folder).complete

    @property
    def reached(self) -> str:
        """Its last checkpoint: by this a worker that got further is told from one that did not."""
        return max((p.name for p in (self.folder / "checkpoints").glob("step-*")), default="")

    def give_up(self) -> None:
        """Leave a word in the folder of a run whose worker could not."""
        files.make_folder(self.folder)
        if not (self.folder / FAILURE).exists():
            files.write_text(self.folder / FAILURE, "its process died\n")


def failure(folder: Path) -> str:
    """Why a run failed, in one line; nothing if it did not."""
    try:
        said = (folder / FAILURE).read_text()
    except FileNotFoundError:  # also if it is tried again at this moment
        return ""
    return (said.strip().splitlines() or ["it did not say why"])[-1]


def perform(message: str) -> str:
    """Make one run from wherever it stands; what goes wrong is written into its folder."""
    record = json.loads(message)
    folder = Path(record["folder"])
    files.make_folder(folder)
    (folder / FAILURE).unlink(missing_ok=True)
    try:
        bare = recipe.decode(Run, record["run"])
        priors = resolve(record["priors"], task=bare.task)
        _execute(replace(bare, priors=priors.records), priors, folder)
    except UserError as error:
        files.write_text(folder / FAILURE, f"{error}\n")
    except Exception:  # whatever it was, it is this run's and nobody else's
        files.write_text(folder / FAILURE, traceback.format_exc())
    return str(folder)


def _execute(run: Run, priors: Priors, folder: Path) -> None:
    """As soon as the folder is free."""
    deadline = time.monotonic() + PATIENCE
    quiet = Listener(warning=lambda text: None)
    while True:
        try:
            execute(run, find(run.task), folder, priors=priors, listener=quiet, tensorboard=False)
            return
        except FolderInUse:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.2)
