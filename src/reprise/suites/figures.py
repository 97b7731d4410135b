"""The figures and tables of the paper, each as the suite of runs behind it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from typing import Any

from reprise.boundary.errors import unknown
from reprise.boundary.plugins import Entry, PluginFault, added, call
from reprise.core.method import Method
from reprise.core.values import Scalar
from reprise.methods import METHODS
from reprise.methods.smec import sampled
from reprise.priors.shipped import SETS, members
from reprise.suites.continual import sequence
from reprise.suites.grid import Tune, Variant, grid, plain
from reprise.suites.suite import EVERYTHING, Cell, Choice, Library, Scale, Suite
from reprise.tasks import Task, find
from reprise.tasks.antmaze import MAPS
from reprise.tasks.metaworld import CONTINUAL, TWELVE

MANIPULATION = tuple(f"metaworld/{name}" for name in TWELVE)
DOWNSTREAM = (*MANIPULATION, *(f"antmaze/{name}" for name in MAPS))
MAZES = ("pointmaze/medium", "pointmaze/two", "pointmaze/s")
BOX, STICK, COFFEE = (f"metaworld/{name}" for name in ("box-close", "stick-pull", "coffee-pull"))
LENGTHS = (50, 20, 10, 5)
"""h is H over these."""
COEFFICIENTS = (1.0, 5.0, 20.0, 50.0)
CROWDS = (1, 4, 16, 64)
STRANGERS = 12
"""Useless priors beside four good ones."""
STATES, FEW_STATES = 10, 2
"""Per interval between evaluations, where values are compared; fewer for tiny networks."""


def main(scale: Scale, choice: Choice) -> list[Cell]:
    """Learning curves on all tasks: eight methods, fifteen tasks."""
    return grid(plain(*METHODS), DOWNSTREAM, scale, choice)


def point(scale: Scale, choice: Choice) -> list[Cell]:
    """Learning curves on three point mazes: eight methods, minutes each."""
    return grid(plain(*METHODS), MAZES, scale, choice)


def ablation(scale: Scale, choice: Choice, variant: str, tasks: int) -> list[Cell]:
    """SMEC against itself without one of its parts, on as many tasks as the paper."""
    return grid(plain("smec", f"smec/{variant}"), MANIPULATION[:tasks], scale, choice)


def random(scale: Scale, choice: Choice) -> list[Cell]:
    """SMEC against a random policy every h steps, and against no reuse."""
    return grid(plain("smec", "smec/random", "scratch"), MANIPULATION[:6], scale, choice)


def sensitivity_h(scale: Scale, choice: Choice) -> list[Cell]:
    """How long a chosen policy keeps control: H/50 to H/5."""
    variants = [Variant(f"h=H/{n}", "smec", partial(_keeping, part=n)) for n in LENGTHS]
    return grid(variants, MANIPULATION[:7], scale, choice)


def _keeping(method: Method, task: Task, part: int) -> Method:
    h = max(1, task.decisions // part)
    planner, critic = replace(method.planner, commit=h), replace(method.critic, horizon=h)  # pyright: ignore
    return replace(method, planner=planner, critic=critic)


def sensitivity_c(scale: Scale, choice: Choice) -> list[Cell]:
    """How much is explored: the UCB coefficient from 1 to 50."""
    variants = [Variant(f"c={c:g}", "smec", partial(_exploring, c=c)) for c in COEFFICIENTS]
    return grid(variants, MANIPULATION[:7], scale, choice)


def _exploring(method: Method, task: Task, c: float) -> Method:
    return replace(method, planner=replace(method.planner, ucb=c))  # pyright: ignore


def prior_sets(scale: Scale, choice: Choice) -> list[Cell]:
    """More and better priors: three, six, and with a weak and a good policy of the task itself."""
    return grid(_with_sets(), (STICK, COFFEE), scale, choice)


def _with_sets() -> list[Variant]:
    return [Variant(name, "smec", library=Library(name, (f"zoo:{name}",))) for name in SETS]


def utilisation(scale: Scale, choice: Choice) -> list[Cell]:
    """Who acts when: SMEC on all tasks."""
    return grid(plain("smec"), DOWNSTREAM, scale, choice)


def value_accuracy(scale: Scale, choice: Choice) -> list[Cell]:
    """What the heads promise and what comes of it: SMEC with a short horizon and without."""
    tasks = ("metaworld/pick-place-wall", "metaworld/push-wall")
    cells = grid(plain("smec", "smec/no-truncation"), tasks, scale, choice)
    return [_scheduled(cell, value_states=FEW_STATES if scale.tiny else STATES) for cell in cells]


def cost(scale: Scale, choice: Choice) -> list[Cell]:
    """Hours: every method on one task, and SMEC with more and more priors. One run at a time!"""
    maze = find(MAZES[0]).priors
    crowds = [Library(f"k={k}", maze, k) for k in CROWDS]
    lines = {
        BOX: plain(*METHODS),
        STICK: [*plain("scratch"), *_with_sets()],
        MAZES[0]: [*plain("scratch"), *(Variant(c.label, "smec", library=c) for c in crowds)],
    }
    cells: list[Cell] = []
    for task in choice.tasks or lines:
        if task not in lines:
            raise unknown("task of suite 'cost':", task, lines)
        cells += grid(lines[task], (task,), scale, choice._replace(tasks=()))
    return cells


def sampled_heads(scale: Scale, choice: Choice) -> list[Cell]:
    """One prior head per transition against all of them, with four priors and with useless ones."""
    refs = find(MAZES[0]).priors
    many = Library(f"zoo:pointmaze and {STRANGERS} untrained", refs, strangers=STRANGERS)
    total = f"k={len(members('pointmaze', MAZES[0])) + STRANGERS}"
    variants = [
        Variant("smec", "smec"),
        Variant("smec sampled", "smec", _sampling),
        Variant(f"smec {total}", "smec", library=many),
        Variant(f"smec sampled {total}", "smec", _sampling, many),
    ]
    return grid(variants, MAZES, scale, choice)


def _sampling(method: Method, task: Task) -> Method:
    return sampled(method, heads_per_row=1)


ANT, WALL = "antmaze/u", "metaworld/push-wall"


def backbone(scale: Scale, choice: Choice) -> list[Cell]:
    """What the learning core is made of: SMEC as it is, and without each ingredient."""
    parts = [Variant("smec", "smec"), *(Variant(n, "smec", tune) for n, tune in WITHOUT.items())]
    cells = grid(parts, (ANT, WALL), scale, choice)
    others = grid([Variant("uniform replay", "smec")], (ANT, WALL), scale, choice)
    uniform = [_scheduled(cell, success_share=0.0) for cell in others]
    return sorted([*cells, *uniform], key=lambda cell: cell.run.seed)


def _valued(method: Method, task: Task, **changes: Any) -> Method:
    return replace(method, critic=replace(method.critic, **changes))


def _imitating(method: Method, task: Task) -> Method:
    return replace(method, imitation=0.4)


def _doubting(method: Method, task: Task) -> Method:
    return replace(method, planner=method.planner.with_correction(1.0))


WITHOUT: dict[str, Tune] = {
    "scalar values": partial(_valued, values=Scalar(), other_values=Scalar()),
    "scalar values, no bounds": partial(
        _valued, values=Scalar(), other_values=Scalar(), bounded=False
    ),
    "scalar values of priors": partial(_valued, other_values=Scalar()),
    "no handback": partial(_valued, handback=False),
    "one step": partial(_valued, n_step=1, other_n_step=1),
    "all heads per row": partial(_valued, heads_per_row=None),
    "imitation": _imitating,
    "doubt of promises": _doubting,
}
"""Lines of `backbone`: an ingredient left out, changed, or added."""


def continual(scale: Scale, choice: Choice, method: str = "smec") -> list[Cell]:
    """Tasks in a row, each with the policies of those before it, and each alone."""
    paper = tuple(f"metaworld/{name}" for name in CONTINUAL)
    tasks = choice.tasks or (paper[:3] if scale.tiny else paper)
    seeds = choice.seeds or min(scale.budget(task).seeds for task in tasks)
    return sequence(tasks, scale, range(seeds), method)


def zero_shot(scale: Scale, choice: Choice) -> list[Cell]:
    """What every prior earns by itself: the shortest run there is notes it in its manifest."""
    cells = grid(plain("smec"), DOWNSTREAM, scale, choice._replace(seeds=1))
    brief = [_scheduled(cell, evaluation_episodes=1) for cell in cells]
    return [replace(cell, run=replace(cell.run, steps=1)) for cell in brief]


def _scheduled(cell: Cell, **changes: float) -> Cell:
    schedule = replace(cell.run.schedule, **changes)
    return replace(cell, run=replace(cell.run, schedule=schedule))


Build = Callable[..., list[Cell]]
"""From a scale and a choice to cells."""
FIGURES: dict[str, Build] = {
    "main": main,
    "point": point,
    "ablation-evaluation": partial(ablation, variant="single-value", tasks=7),
    "ablation-horizon": partial(ablation, variant="no-truncation", tasks=7),
    "ablation-ucb": partial(ablation, variant="no-ucb", tasks=8),
    "sensitivity-h": sensitivity_h,
    "sensitivity-c": sensitivity_c,
    "random": random,
    "prior-sets": prior_sets,
    "utilisation": utilisation,
    "value-accuracy": value_accuracy,
    "cost": cost,
    "sampled-heads": sampled_heads,
    "backbone": backbone,
    "continual": continual,
    "zero-shot": zero_shot,
}


def suite(name: str, scale: Scale, choice: Choice = EVERYTHING, **options: str) -> Suite:
    """A suite by name, or the part of it that somebody chose; `options` are the figure's own."""
    build = FIGURES[name] if name in FIGURES else _added(name)
    cells = [_long(cell, choice.steps) for cell in build(scale, choice, **options)]
    labels, methods = {cell.label for cell in cells}, {cell.run.name for cell in cells}
    for line in choice.methods:
        if line not in labels | methods:
            raise unknown(f"method of suite {name!r}:", line, labels | methods)
    # A line may be called as another one's method is: who says so means the line.
    asked = set(choice.methods) or labels
    wanted, whole = asked & labels, asked - labels
    chosen = (cell for cell in cells if cell.label in wanted or cell.run.name in whole)
    return Suite(name, title(build), scale.name, tuple(chosen))


def title(build: Callable[..., Any]) -> str:
    """The first line of what a suite says about itself."""
    says = getattr(build, "func", build).__doc__ or ""
    return says.strip().partition("\n")[0].removesuffix(".")


@cache
def added_suites() -> dict[str, Entry[Callable[..., Any]]]:
    """The suites that installed packages add."""
    return added("suite", lambda registry: registry.suites, FIGURES)


def _added(name: str) -> Build:
    """A plugin's suite."""
    if name not in added_suites():
        raise unknown("suite", name, [*FIGURES, *added_suites()])
    package, build = added_suites()[name]

    def cells(scale: Scale, choice: Choice) -> list[Cell]:
        made = call(package, f"suite {name!r}", lambda: list(build(scale, choice)), list)
        if wrong := [cell for cell in made if not isinstance(cell, Cell)]:
            kind = type(wrong[0]).__name__
            raise PluginFault(f"suite {name!r} of package {package!r} has a {kind}, not only Cells")
        return made

    cells.__doc__ = build.__doc__
    return cells


def _long(cell: Cell, steps: int | None) -> Cell:
    return cell if steps is None else replace(cell, run=replace(cell.run, steps=steps))
