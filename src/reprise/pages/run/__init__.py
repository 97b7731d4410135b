"""The page about runs, its tables and its printed figures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from reprise.boundary.errors import UserError
from reprise.findings.tables import load
from reprise.pages.output import write as write_files
from reprise.pages.run.page import all_panels, content
from reprise.pages.write import Wanted

if TYPE_CHECKING:
    from reprise.tasks.task import Picture

__all__ = ["content", "write"]


def write(folders: Sequence[Path], wanted: Wanted, picture: Picture | None) -> Path:
    """Write the page of some runs, and what else is wanted."""
    if not folders:
        raise UserError("a report needs at least one run folder")
    runs = [load(folder) for folder in folders]
    return write_files(wanted, content(runs, picture), all_panels(runs, picture), [])
