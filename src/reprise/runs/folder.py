"""A run's folder: whose it is, which recipe made it, and when, where and with what it ran."""

from __future__ import annotations

import os
import platform
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import filelock

from reprise.boundary import files
from reprise.boundary.errors import FolderInUse, UserError
from reprise.runs import recipe
from reprise.runs.recipe import Run

RECIPE = "run.json"
SHELVES = ("runs", "priors")
"""Where a suite keeps what its runs reuse."""
PACKAGES = ("jax", "jaxlib", "equinox", "optax", "numpy", "gymnasium", "mujoco", "safetensors")


@contextmanager
def claimed(folder: Path) -> Generator[None]:
    """Nobody else may use the folder; the kernel frees the claim if this process dies."""
    files.make_folder(folder)
    try:
        lock = filelock.FileLock(folder / ".lock")
        lock.acquire(timeout=0)
    except filelock.Timeout:
        owner = (folder / ".owner").read_text() if (folder / ".owner").exists() else "?"
        raise FolderInUse(f"{folder} is in use by process {owner}; wait or choose --out") from None
    except OSError as error:
        raise files.unwritable(folder, error) from error
    try:
        files.write_text(folder / ".owner", str(os.getpid()))
        yield
    finally:
        (folder / ".owner").unlink(missing_ok=True)
        lock.release()


def refuse_foreign(folder: Path) -> None:
    """A run moves only into a folder that is new, empty or a run's."""
    try:
        inside = () if (folder / RECIPE).is_file() else tuple(folder.iterdir())
    except FileNotFoundError:
        return
    except OSError as error:
        raise files.unwritable(folder, error) from error
    others = sorted(path.name for path in inside if not path.name.startswith("."))
    if others:
        raise UserError(
            f"{folder} is not a run, and not empty (it holds {others[0]!r}); choose another --out"
        )


def settle_recipe(run: Run, folder: Path) -> None:
    """Write the recipe of a new run; refuse a folder that another recipe made.

    A prior is what it is, not where it is: who moves it with its runs can still continue them.
    """
    path = folder / RECIPE
    found = recipe.load(path) if path.exists() else None
    if found and placeless(found) != placeless(run):
        raise UserError(
            f"{folder} was made by another recipe ({found.name} on {found.task}, {found.id}); "
            "choose another --out, or `reprise resume` to continue it"
        )
    if found != run:
        files.write_json(path, recipe.dump(run))


def extend(run: Run, folder: Path, steps: int) -> Run:
    """The run in a folder with more steps to go, as if it had been meant to be that long.

    Its manifest remembers where it was to end before.
    """
    if steps <= run.steps:
        raise UserError(f"steps is {steps}; {folder} is a run of {run.steps} already: give more")
    longer = replace(run, steps=steps)
    with claimed(folder):
        manifest = Manifest(folder)
        ends = manifest.record.get("earlier_ends", [])
        manifest.note(state="extended", earlier_ends=[*ends, {"steps": run.steps, "left": now()}])
        files.write_json(folder / RECIPE, recipe.dump(longer))
    return longer


def placeless(run: Run) -> Run:
    """The recipe without the places of its priors; their names, formats and hashes remain."""
    return replace(run, priors=tuple(prior._replace(ref="") for prior in run.priors))


def read_recipe(folder: Path) -> Run:
    """The recipe of a run; priors that moved together with it are where they are now."""
    path = folder / RECIPE
    if not path.is_file():
        raise UserError(f"{folder} is not a run: it has no run.json")
    run, suite = recipe.load(path), folder.resolve().parent.parent
    here = tuple(prior._replace(ref=_moved(prior.ref, suite)) for prior in run.priors)
    return replace(run, priors=here)


def _moved(ref: str, suite: Path) -> str:
    """A reference into a suite that is no longer there, as one into the suite that is here.

    What it names is still checked by its hash.
    """
    place = Path(ref.removeprefix("run:"))
    here = suite / place.parent.name / place.name
    gone = place.is_absolute() and place.parent.name in SHELVES and not place.exists()
    return ref.replace(str(place), str(here)) if gone and here.exists() else ref


class Manifest:
    """`manifest.json`: where, when and with which versions a run was made."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "manifest.json"
        self.record = files.read_json(self._path) if self._path.exists() else {}

    @property
    def complete(self) -> bool:
        """Whether there is nothing left to do."""
        return self.record.get("state") == "complete"

    def note(self, **facts: Any) -> None:
        """Add or replace facts."""
        self.record |= facts
        self.record.setdefault("started", now())
        files.write_json(self._path, {"schema": 1, **self.record})


def environment() -> dict[str, Any]:
    """Versions and platform: what exactness depends on."""
    versions = {"reprise": version("reprise"), "python": platform.python_version()}
    versions |= {name: version(name) for name in PACKAGES}
    where = f"{platform.system()} {platform.machine()}"
    return {"versions": versions, "platform": where, "nproc": os.environ.get("NPROC", "")}


def now() -> str:
    """This moment, for the record."""
    return datetime.now(UTC).isoformat(timespec="seconds")
