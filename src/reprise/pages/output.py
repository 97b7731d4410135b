"""Pages, tables and figures as files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from reprise.boundary.files import make_folder, write_text
from reprise.pages import printed
from reprise.pages.chart import Panel, Table
from reprise.pages.frame import Content, shell
from reprise.pages.write import Wanted


def write(wanted: Wanted, body: Content, panels: Sequence[Panel], more: Sequence[Table]) -> Path:
    """The page; where asked, the tables and figures of its panels, and more tables."""
    make_folder(wanted.page.parent)
    write_text(wanted.page, shell(body))
    if wanted.csv is not None:
        make_folder(wanted.csv)
        for table in [*more, *(table for panel in panels for table in panel.tables)]:
            text = table.rows.to_csv(index=False, lineterminator="\n")
            write_text(wanted.csv / f"{table.name}.csv", text)
    for folder, kinds in ((wanted.figures, ("pdf", "png")), (wanted.png, ("png",))):
        if folder is not None:
            printed.write(panels, folder, kinds)
    return wanted.page
