"""The page about suites, its tables and its printed figures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from reprise.findings.gather import gather
from reprise.pages.output import write as write_files
from reprise.pages.suite.page import content
from reprise.pages.suite.panels import panels, runs
from reprise.pages.write import Wanted

__all__ = ["content", "write"]


def write(folders: Sequence[Path], wanted: Wanted) -> Path:
    """Write the page of suites, and what else is wanted."""
    found = gather(*folders)
    some = panels(found)
    return write_files(wanted, content(found, some), some, [runs(found)])
