"""Suites: the runs behind every figure and table of the paper."""

from __future__ import annotations

from reprise.suites.continual import sequence
from reprise.suites.figures import FIGURES, added_suites, suite, title
from reprise.suites.forecast import Estimate, calibration, ends, estimate, finish
from reprise.suites.play import jobs, play
from reprise.suites.record import folder_of, load
from reprise.suites.suite import SCALES, Cell, Choice, Library, Scale, Suite, cell_name

__all__ = [
    "FIGURES",
    "SCALES",
    "Cell",
    "Choice",
    "Estimate",
    "Library",
    "Scale",
    "Suite",
    "added_suites",
    "calibration",
    "cell_name",
    "ends",
    "estimate",
    "finish",
    "folder_of",
    "jobs",
    "load",
    "play",
    "sequence",
    "suite",
    "title",
]
