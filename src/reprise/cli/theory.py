"""`reprise theory`."""

from __future__ import annotations

import json
from dataclasses import dataclass

from rich.table import Table
from rich.text import Text

from reprise.boundary.errors import UserError
from reprise.lab.theory import Findings, check
from reprise.runs.terminal import console, waiting


@dataclass(frozen=True)
class Theory:
    """Check the corrected theorems on random MDPs, and show where the paper's fail."""

    mdps: int = 2_000
    """Number of random MDPs."""
    seed: int = 0
    """Random seed."""
    json: bool = False
    """Print JSON."""


def theory(options: Theory) -> int:
    """0 if everything that should hold holds and everything that should fail fails, else 1."""
    if options.mdps < 1:
        raise UserError(f"--mdps is {options.mdps}; give a positive number")
    with waiting(f"{options.mdps:,} random MDPs", options.mdps) as at:
        findings = check(options.mdps, options.seed, at)
    if options.json:
        print(json.dumps(findings.as_json()))
    else:
        console().print(_table(findings))
        _verdict(findings)
    return 0 if findings.ok else 1


def _table(findings: Findings) -> Table:
    table = Table(box=None, header_style="bold", title="Exact values on random tabular MDPs")
    for head in ("", "statement", "should", "cases", "violations", "margin"):
        side = "right" if head in ("cases", "violations", "margin") else "left"
        table.add_column(head, justify=side, no_wrap=True)
    for found in findings.checks:
        margin = "" if found.min_margin is None else f"{found.min_margin:.2e}"
        mark = Text("✓", "green") if found.ok else Text("✗", "red")
        counts = (f"{found.applied:,}", f"{found.violations:,}")
        table.add_row(mark, found.name, found.expected, *counts, margin)
    return table


def _verdict(findings: Findings) -> None:
    screen = console()
    idle = [found.name for found in findings.checks if not found.applied]
    if idle:
        screen.print(f"no draw met the hypothesis of {', '.join(idle)}: use more --mdps")
    verdict = "all as it should be" if findings.ok else "something is not as it should be"
    screen.print(f"{verdict}, {findings.seconds:.1f} s")
