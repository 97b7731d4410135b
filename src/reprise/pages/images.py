"""Figures as bytes: SVG elements for a page, PNG and PDF files, the same for the same input."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Generator
from contextlib import contextmanager
from io import BytesIO
from typing import Any
from xml.etree import ElementTree

import matplotlib
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_pdf import FigureCanvasPdf
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

PNG_DPI = 160
DECIMALS = re.compile(r"-?\d+\.\d{3,}")
"""Coordinates that are finer than anyone sees."""


def svg(draw: Callable[[], Figure], name: str, description: str) -> str:
    """A figure as one SVG element for HTML, its text as text."""
    buffer = BytesIO()
    with _settled(name):
        # savefig would draw everything twice, the first time only to measure what is not cut here.
        canvas: Any = FigureCanvasSVG(draw())
        canvas.print_svg(buffer, metadata={"Date": None})
    return _inline(buffer.getvalue(), name, description)


def png(draw: Callable[[], Figure]) -> bytes:
    """A figure as the bytes of a PNG file."""
    buffer = BytesIO()
    with _settled("png"):
        figure = draw()
        figure.set_dpi(PNG_DPI)
        canvas: Any = FigureCanvasAgg(figure)
        canvas.print_png(buffer, metadata={"Software": None})
    return buffer.getvalue()


def pdf(draw: Callable[[], Figure]) -> bytes:
    """A figure as the bytes of a PDF file, its text as text."""
    buffer = BytesIO()
    with _settled("pdf"):
        canvas: Any = FigureCanvasPdf(draw())
        canvas.print_pdf(buffer, metadata={"CreationDate": None})
    return buffer.getvalue()


@contextmanager
def _settled(salt: str) -> Generator[None]:
    """Matplotlib as it comes, whatever the user's own settings, with names that do not vary."""
    library: Any = matplotlib  # its stubs are partly untyped
    with library.rc_context(), warnings.catch_warnings():
        # A name in a script that the measuring font lacks is still shown by the browser's fonts.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        library.rcdefaults()
        library.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": salt, "pdf.fonttype": 42})
        yield


def _inline(document: bytes, name: str, description: str) -> str:
    """Only the drawing: no document type, metadata, style sheet or names shared with others."""
    root = ElementTree.fromstring(document)
    for parent in root.iter():
        for child in list(parent):
            if _local(child.tag) in {"metadata", "style"}:
                parent.remove(child)
    for element in root.iter():
        element.tag = _local(element.tag)
        element.attrib = {
            _local(key): _own(value, _local(key), name) for key, value in element.attrib.items()
        }
    for size in ("width", "height", "version"):
        root.attrib.pop(size, None)
    root.attrib |= {"role": "img", "aria-label": description}
    return ElementTree.tostring(root, encoding="unicode")


def _local(name: str) -> str:
    return name.rpartition("}")[2]


def _own(value: str, key: str, name: str) -> str:
    """An attribute: coordinates rounded, the figure's name in front of every name in it."""
    if key == "id":
        return f"{name}-{value}"
    if key == "d":
        return DECIMALS.sub(lambda found: f"{float(found[0]):.2f}", value)
    if key == "href":
        return value.replace("#", f"#{name}-", 1)
    return value.replace("url(#", f"url(#{name}-")
