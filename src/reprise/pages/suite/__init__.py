"""The page about suites, its tables and its printed figures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from reprise.findings.gather import gather
from reprise.io.files import make_folder, write_text
from reprise.pages.frame import shell
from reprise.pages.suite import printed
from reprise.pages.suite.page import content
from reprise.pages.suite.panels import panels, runs

__all__ = ["content", "write"]


def write(
    folders: Sequence[Path], out: Path, csv: Path | None = None, figures: Path | None = None
) -> Path:
    """Write the page of suites; if asked, each table as a CSV and each figure as PDF and PNG."""
    found = gather(*folders)
    sections = panels(found)
    make_folder(out.parent)
    write_text(out, shell(content(found, sections)))
    if csv is not None:
        make_folder(csv)
        for table in [runs(found), *(table for panel in sections for table in panel.tables)]:
            write_text(
                csv / f"{table.name}.csv", table.rows.to_csv(index=False, lineterminator="\n")
            )
    if figures is not None:
        printed.write(sections, figures)
    return out
