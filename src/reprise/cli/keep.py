"""`--results`: what a suite found is kept as CSV files, and not made again."""

from __future__ import annotations

import sys
from pathlib import Path

from reprise.suites import Suite


def unkept(whole: Suite, folder: Path | None) -> Suite:
    """What of a suite is not among the results in a folder."""
    if folder is None:
        return whole
    from reprise.findings import results

    planned = results.missing(whole, folder)
    if spared := len(whole.cells) - len(planned.cells):
        text = f"{spared} of {len(whole.cells)} runs are in {folder}: not made again"
        print(text, file=sys.stderr)
    return planned


def keep(suite: Path, folder: Path | None) -> None:
    """Add what a suite found to the results in a folder."""
    if folder is None:
        return
    from reprise.findings import results
    from reprise.findings.gather import gather

    known = [folder] if results.known(folder) else []
    names = results.dump(gather(suite, *known), folder)
    print(f"wrote {', '.join(names)} to {folder}", file=sys.stderr)
