"""The figures and tables of the paper, each as the suite of runs behind it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from reprise.method import Method
from reprise.methods import METHODS
from reprise.suites.continual import sequence
from reprise.suites.grid import PRIORS, Variant, grid, plain
from reprise.suites.suite import Cell, Library, Scale, Suite
from reprise.tasks import Task
from reprise.tasks.antmaze import MAPS
from reprise.tasks.metaworld import CONTINUAL, TWELVE

MANIPULATION = tuple(f"metaworld/{name}" for name in TWELVE)
DOWNSTREAM = (*MANIPULATION, *(f"antmaze/{name}" for name in MAPS))
MAZES = ("pointmaze/medium", "pointmaze/two", "pointmaze/s")
SET1 = PRIORS["metaworld"].refs
SET2 = (*SET1, *(f"zoo:metaworld/{name}" for name in ("hammer", "push-back", "shelf-place")))
BOX, STICK, COFFEE = (f"metaworld/{name}" for name in ("box-close", "stick-pull", "coffee-pull"))
LENGTHS = (50, 20, 10, 5)
"""h is H over these."""
COEFFICIENTS = (1.0, 5.0, 20.0, 50.0)
CROWDS = (1, 4, 16, 64)


def main(scale: Scale) -> list[Cell]:
    """Learning curves on all tasks: eight methods, fifteen tasks."""
    return grid(plain(*METHODS), DOWNSTREAM, scale)


def point(scale: Scale) -> list[Cell]:
    """Learning curves on three point mazes: eight methods, minutes each."""
    return grid(plain(*METHODS), MAZES, scale)


def ablation(scale: Scale, variant: str, tasks: int) -> list[Cell]:
    """SMEC against itself without one of its parts, on as many tasks as the paper."""
    return grid(plain("smec", f"smec/{variant}"), MANIPULATION[:tasks], scale)


def random(scale: Scale) -> list[Cell]:
    """SMEC against a random policy every h steps, and against no reuse."""
    return grid(plain("smec", "smec/random", "scratch"), MANIPULATION[:6], scale)


def sensitivity_h(scale: Scale) -> list[Cell]:
    """How long a chosen policy keeps control: H/50 to H/5."""
    variants = [Variant(f"h=H/{n}", "smec", partial(_keeping, part=n)) for n in LENGTHS]
    return grid(variants, MANIPULATION[:7], scale)


def _keeping(method: Method, task: Task, part: int) -> Method:
    h = max(1, task.horizon // part)
    planner, critic = replace(method.planner, commit=h), replace(method.critic, horizon=h)  # pyright: ignore
    return replace(method, planner=planner, critic=critic)


def sensitivity_c(scale: Scale) -> list[Cell]:
    """How much is explored: the UCB coefficient from 1 to 50."""
    variants = [Variant(f"c={c:g}", "smec", partial(_exploring, c=c)) for c in COEFFICIENTS]
    return grid(variants, MANIPULATION[:7], scale)


def _exploring(method: Method, task: Task, c: float) -> Method:
    return replace(method, planner=replace(method.planner, ucb=c))  # pyright: ignore


def prior_sets(scale: Scale) -> list[Cell]:
    """More and better priors: three, six, and with a weak and a good policy of the task itself."""
    tasks = scale.pick((STICK, COFFEE))
    return [found for task in tasks for found in grid(_with_sets(task), (task,), scale)]


def _with_sets(task: str) -> list[Variant]:
    own = f"zoo:metaworld/{task.partition('/')[2]}"
    sets = (SET1, SET2, (*SET2, f"{own}-weak"), (*SET2, f"{own}-weak", own))
    libraries = [Library(f"set{i}", refs) for i, refs in enumerate(sets, 1)]
    return [Variant(library.label, "smec", library=library) for library in libraries]


def utilisation(scale: Scale) -> list[Cell]:
    """Who acts when: SMEC on all tasks."""
    return grid(plain("smec"), DOWNSTREAM, scale)


def value_accuracy(scale: Scale) -> list[Cell]:
    """What the heads promise: SMEC with a short horizon and without."""
    tasks = ("metaworld/pick-place-wall", "metaworld/push-wall")
    return grid(plain("smec", "smec/no-truncation"), tasks, scale)


def cost(scale: Scale) -> list[Cell]:
    """Hours: every method on one task, and SMEC with more and more priors. One run at a time!"""
    maze = PRIORS["pointmaze"].refs
    crowds = [Library(f"k={k}", maze, k) for k in CROWDS]
    more = [Variant(crowd.label, "smec", library=crowd) for crowd in crowds]
    scratch = plain("scratch")
    return [
        *grid(plain(*METHODS), (BOX,), scale),
        *grid([*scratch, *_with_sets(STICK)], (STICK,), scale),
        *grid([*scratch, *more], MAZES[:1], scale),
    ]


def continual(scale: Scale) -> list[Cell]:
    """Six tasks in a row, each with the policies of those before it, and each alone."""
    tasks = [f"metaworld/{name}" for name in CONTINUAL]
    return sequence(tasks[:3] if scale.tiny else tasks, scale, range(scale.dear.seeds))


def zero_shot(scale: Scale) -> list[Cell]:
    """What every prior earns by itself: the shortest run there is notes it in its manifest."""
    cells = [c for c in grid(plain("smec"), DOWNSTREAM, scale) if c.run.seed == 0]
    brief = [replace(c.run.schedule, evaluation_episodes=1) for c in cells]
    runs = [replace(c.run, steps=1, schedule=s) for c, s in zip(cells, brief, strict=True)]
    return [replace(c, run=run) for c, run in zip(cells, runs, strict=True)]


FIGURES: dict[str, Callable[[Scale], list[Cell]]] = {
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
    "continual": continual,
    "zero-shot": zero_shot,
}


def suite(name: str, scale: Scale) -> Suite:
    """A suite by name."""
    build = FIGURES[name]
    says = getattr(build, "func", build).__doc__ or ""
    return Suite(name, says.partition("\n")[0], scale.name, tuple(build(scale)))
