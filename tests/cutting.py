"""Runs that end without warning, as if the power went out."""

from __future__ import annotations

from reprise.runs.execute import Listener


class Enough(Exception):
    """The power went out."""


def cut_at(step: int) -> Listener:
    """A listener that pulls the plug at a report."""

    def progress(report: object, speed: float) -> None:
        if report.step >= step:  # type: ignore[attr-defined]
            raise Enough

    return Listener(progress=progress)
