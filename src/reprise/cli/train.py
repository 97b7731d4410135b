"""`reprise train` and `resume`."""

from __future__ import annotations

import csv
import json
import re
import warnings
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any

import tyro

from reprise.boundary.errors import UserError, unknown
from reprise.core.method import Method
from reprise.methods import Preset, prepare
from reprise.pages.write import NO_REPORT, Wanted, can_report, write_report
from reprise.priors import Priors, resolve
from reprise.runs.execute import Listener, Outcome, execute
from reprise.runs.folder import Manifest, extend, read_recipe
from reprise.runs.recipe import Run, library
from reprise.runs.terminal import ProgressLine, console
from reprise.tasks import find
from reprise.training.loop import RewardSignWarning
from reprise.training.schedule import Schedule


@dataclass(frozen=True)
class Train:
    """Train on a task, with the help of old policies (priors) if you name any."""

    task: tyro.conf.Positional[str]
    """Task id, such as pointmaze/medium or gym/Pendulum-v1. `reprise tasks list` shows them."""
    method: str = "smec"
    """Name of the method. `reprise methods list` shows them."""
    priors: tuple[str, ...] = ()
    """The old policies to reuse: a policy file (reprise, Stable-Baselines3 .zip, .onnx), a folder
    of them, zoo:<name>, run:<folder>, metaworld:<task> or python:<module>:<factory>."""
    trust_code: bool = False
    """Allow priors that are Python code to run; each file that is run is printed."""
    steps: int = 60_000
    """Environment steps."""
    seed: int = 0
    """Random seed. Runs with the same seed give identical results."""
    preset: Preset = "small"
    """Network sizes, warm-up and number of steps: `small` suits one machine, `paper` is what the
    paper used."""
    out: Path | None = None
    """Folder of the run; by default runs/<task>-<method>-s<seed>-<id>. If it holds the same run,
    stopped half-way, that run continues."""
    tensorboard: bool = True
    """Write event files for TensorBoard."""
    json: bool = False
    """Print the result as JSON."""
    tuned: Annotated[Method, tyro.conf.arg(name="")] = field(default_factory=Method)
    schedule: Schedule = field(default_factory=Schedule)


def train_defaults(argv: list[str]) -> Train:
    """Defaults for a task, a method and a preset: `--help` shows the numbers that will be used."""
    given = [arg for arg in argv if arg not in ("-h", "--help")]
    if given and given[0].startswith("-"):
        raise UserError(f"the task comes first: reprise train TASK [options], not {given[0]!r}")
    method, preset = _last(given, "--method", "smec"), _last(given, "--preset", "small")
    if preset not in ("small", "paper"):
        raise unknown("preset", preset, ("small", "paper"))
    task: Any = given[0] if given else tyro.MISSING
    held = _last(given, "--schedule.action-repeat", "")
    repeat = int(held) if held.isdigit() and int(held) else None  # the parser says what is wrong
    setup = prepare(method, find(given[0] if given else "pointmaze/medium"), preset, repeat)
    chosen: Any = {"steps": setup.steps, "tuned": setup.method, "schedule": setup.schedule}
    return Train(task, method, preset=preset, **chosen)


def _last(given: list[str], flag: str, default: str) -> Any:
    """The value that an option will have: the last one given, `--flag x` or `--flag=x`."""
    joined = [word for arg in given for word in (arg.split("=", 1) if "=" in arg else [arg])]
    values = [value for name, value in pairwise(joined) if name == flag]
    return values[-1] if values else default


def train(options: Train) -> int:
    """Run it in its folder."""
    task = find(options.task)
    priors = resolve(options.priors, task=task.id, trust_code=options.trust_code)
    run = Run(
        options.method, options.tuned, task.id, priors.records, options.seed,
        options.steps, options.preset, options.schedule,
    )  # fmt: skip
    short = f"{re.sub('[/:]', '-', task.id)}-{run.name.replace('/', '-')}-s{run.seed}-{run.id}"
    folder = options.out or Path("runs") / short
    if Manifest(folder).complete:
        raise UserError(
            f"{folder} is complete; choose another --out, or see `reprise report {folder}` and "
            f"`reprise resume {folder} --steps N`"
        )
    return _play(run, folder, priors, options)


@dataclass(frozen=True)
class Resume:
    """Continue a run exactly where it stopped, or extend it to more steps."""

    run: tyro.conf.Positional[Path]
    """Folder of the run."""
    steps: int | None = None
    """Total number of environment steps after which to stop; by default what the run was
    started with."""
    trust_code: bool = False
    """Allow priors that are Python code to run; each file that is run is printed."""
    tensorboard: bool = True
    """Write event files for TensorBoard."""
    json: bool = False
    """Print the result as JSON."""


def resume(options: Resume) -> int:
    """The same run, not a new one."""
    run = read_recipe(options.run)
    if options.steps not in (None, run.steps):
        run = extend(run, options.run, options.steps)
    elif Manifest(options.run).complete:
        raise UserError(
            f"{options.run} is complete ({run.steps} steps); --steps N takes it on to N steps"
        )
    priors = library(run, trust_code=options.trust_code)
    return _play(run, options.run, priors, options)


def _play(run: Run, folder: Path, priors: Priors, options: Train | Resume) -> int:
    line = ProgressLine(run, run.steps)
    listener = Listener(lambda p, speed: line.progress(p, speed), line.evaluation, line.warning)
    task = find(run.task)
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", RewardSignWarning)
            outcome = execute(
                run, task, folder, priors=priors, listener=listener,
                tensorboard=options.tensorboard,
            )  # fmt: skip
    finally:
        line.close()
    for warning in caught:
        if issubclass(warning.category, RewardSignWarning):
            line.warning(str(warning.message))
    if outcome.interrupted is not None:
        line.warning(f"saved at step {outcome.steps:,}; continue with: reprise resume {folder}")
        return 128 + outcome.interrupted
    if can_report():
        write_report([folder], Wanted(folder / "report.html"), task.picture)
    else:
        line.warning(NO_REPORT)
    _show(outcome, options.json)
    return 0


def _show(outcome: Outcome, as_json: bool) -> None:
    answer = result(outcome.folder, outcome.steps, outcome.seconds)
    if as_json:
        print(json.dumps(answer))
        return
    screen = console()
    success = answer["success_any"]
    shown = "n/a" if success is None else f"{success:.0%}"
    screen.print(
        f"{answer['steps']:,} steps in {answer['seconds']:.0f} s: success {shown}, "
        f"return {answer['return_mean']:.1f}"
    )
    for name in ("report.html", "policy"):
        if (outcome.folder / name).exists():
            screen.print(f"  {outcome.folder / name}", highlight=False, soft_wrap=True)


def result(folder: Path, steps: int, seconds: float) -> dict[str, Any]:
    """The answer of train, resume and evaluate: the last evaluation of a run."""
    with (folder / "eval.csv").open() as file:
        rows = list(csv.DictReader(file))
    last = rows[-1] if rows else {}
    names = ("success_any", "success_last", "return_mean")
    found = {name: float(last[name]) if last.get(name) else None for name in names}
    return {"run": str(folder), "steps": steps, **found, "seconds": round(seconds, 1)}
