"""Reports: run folders in, one self-contained page (and optionally PNG files) out."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from reprise.findings.tables import RunTables, load, titles
from reprise.io.errors import UserError
from reprise.io.files import make_folder, write_bytes, write_text
from reprise.pages.crowd import cast
from reprise.pages.drawing import png as as_png
from reprise.pages.frame import shell
from reprise.pages.palette import colors
from reprise.pages.run.figures import learning_curve
from reprise.pages.run.page import content, own_picture
from reprise.pages.run.panels import PANELS, Scene

if TYPE_CHECKING:
    from reprise.tasks.task import Picture


def write(
    folders: Sequence[Path], out: Path, picture: Picture | None, png: Path | None = None
) -> Path:
    """Write the report of some runs to a file, and its figures to a folder if one is given."""
    if not folders:
        raise UserError("a report needs at least one run folder")
    runs = [load(folder) for folder in folders]
    make_folder(out.parent)
    write_text(out, shell(content(runs, picture)))
    if png is not None:
        write_pictures(runs, png, picture)
    return out


def write_pictures(runs: Sequence[RunTables], folder: Path, picture: Picture | None) -> None:
    """Write the figures of a report as PNG files, named by run and figure."""
    make_folder(folder)
    paint = colors(cast(runs))
    if len(runs) > 1:
        write_bytes(folder / "all-runs.png", as_png(lambda: learning_curve(runs, paint)))
    for title, run in zip(titles(runs), runs, strict=True):
        scene = Scene(run, own_picture(runs, run, picture), paint)
        prefix = f"{_file_name(title)}-" if len(runs) > 1 else ""
        for panel in PANELS:
            if panel.ready(run):
                image = as_png(lambda draw=panel.draw, scene=scene: draw(scene))
                write_bytes(folder / f"{prefix}{panel.slug}.png", image)


def _file_name(title: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-") or "run"
