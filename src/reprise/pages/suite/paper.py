"""Numbers that the paper prints, to stand beside ours."""

from __future__ import annotations

HOURS = {
    "metaworld/box-close": {
        "scratch": (6.43, 0.14), "multipolar": (8.09, 0.27), "ac-teach": (8.26, 0.21),
        "cup": (8.38, 0.18), "skills": (14.73, 0.05), "qmp": (7.74, 0.32), "smec": (8.01, 0.08),
    },
    "metaworld/stick-pull": {
        "scratch": (5.92, 0.11), "set1": (7.27, 0.13), "set2": (7.29, 0.02),
        "set3": (7.32, 0.09), "set4": (7.57, 0.11),
    },
}  # fmt: skip
"""Hours of a million steps, mean and standard deviation over five runs, by task and line."""


def hours(task: str, label: str) -> float | None:
    """The paper's mean, if it prints one."""
    found = HOURS.get(task, {}).get(label)
    return found[0] if found else None


def ratio(task: str, label: str) -> float | None:
    """The paper's time as a multiple of its Scratch on the same task."""
    ours, scratch = hours(task, label), hours(task, "scratch")
    return ours / scratch if ours and scratch else None
