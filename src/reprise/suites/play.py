"""A suite in its folder: started, continued where it stopped, or found complete."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from reprise.boundary.errors import UserError
from reprise.priors import resolve
from reprise.runs.folder import claimed, placeless, read_recipe
from reprise.suites.crowd import gathered
from reprise.suites.launch import AS_GIVEN, Job, Outcome, Plan, State, Workers, launch
from reprise.suites.record import folder_of, settle
from reprise.suites.suite import Suite


def play(
    suite: Suite,
    out: Path,
    workers: Callable[[], Workers],
    tell: Callable[[Job, State], None] = lambda job, state: None,
    plan: Plan = AS_GIVEN,
) -> Outcome:
    """Make every run of a suite that is not complete."""
    with claimed(out):
        settle(suite, out)
        planned = jobs(suite, out)
        for job in planned:
            _recognize(job)
        return launch(planned, workers(), tell, plan)


def _recognize(job: Job) -> None:
    """A complete run may have been put here from another suite: it must be the same one."""
    if not job.complete:
        return
    found = read_recipe(job.folder)
    # What other runs of the suite learn need not be there any more.
    priors = found.priors if job.needs else resolve(job.priors, task=job.run.task).records
    if placeless(found) != placeless(replace(job.run, priors=priors)):
        raise UserError(f"{job.folder} holds a run of another recipe; move it away")


def jobs(suite: Suite, out: Path) -> list[Job]:
    """A suite's cells as runs in folders, with references for the policies they wait for."""
    out = out.absolute()
    return [
        Job(
            name=cell.name,
            run=cell.run,
            priors=(
                *gathered(cell.library, out / "priors"),
                *(f"run:{folder_of(out, need)}" for need in cell.needs),
            ),
            folder=folder_of(out, cell.name),
            needs=cell.needs,
        )
        for cell in suite.cells
    ]
