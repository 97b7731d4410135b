"""Methods by name: each a value of the three choices, given the task's h and c."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from typing import Any, Literal, NamedTuple

from reprise.boundary.errors import unknown
from reprise.boundary.plugins import Entry, MethodRow, added, call
from reprise.core.critic import Critic, HybridCritic
from reprise.core.method import Method
from reprise.core.values import Categorical, Scalar
from reprise.methods import smec as _smec
from reprise.methods.ac_teach import ac_teach
from reprise.methods.cup import cup
from reprise.methods.mamba import mamba
from reprise.methods.multipolar import multipolar
from reprise.methods.qmp import qmp
from reprise.methods.skills import skills
from reprise.tasks import Task
from reprise.training.schedule import Schedule

Preset = Literal["small", "paper"]


class Row(NamedTuple):
    """A line of the table of methods."""

    build: Callable[[int, float], Method]
    """(h, c) -> the method."""
    paper: str
    fixed: frozenset[str] = frozenset()
    """Fields of its critic that no preset changes."""
    package: str = "reprise"
    """Where it comes from."""


def scratch(h: int = 50, c: float = 10.0) -> Method:
    """SAC alone; there is nobody to switch to, so h and c do not matter."""
    return Method()


PAPER = "On the Value of Myopic Behavior in Policy Reuse"
METHODS: dict[str, Row] = {
    "smec": Row(_smec.smec, PAPER),
    "scratch": Row(scratch, "Soft Actor-Critic (Haarnoja et al., 2018)"),
    "qmp": Row(qmp, "Efficient Multi-Task RL via Selective Behavior Sharing (Zhang et al., 2023)"),
    "ac-teach": Row(ac_teach, "AC-Teach: A Bayesian Actor-Critic Method (Kurenkov et al., 2019)"),
    "cup": Row(cup, "CUP: Critic-Guided Policy Reuse (Zhang et al., 2022)"),
    "multipolar": Row(
        multipolar, "MULTIPOLAR: Multi-Source Policy Aggregation (Barekatain et al., 2020)"
    ),
    "mamba": Row(
        mamba, "Policy Improvement via Imitation of Multiple Oracles (Cheng et al., 2020)"
    ),
    "skills": Row(skills, "SkillS: Adaptive Skill Sequencing (Vezzani et al., 2022)"),
}
ABLATIONS: dict[str, Row] = {
    "smec/single-value": Row(_smec.single_value, PAPER),
    "smec/no-truncation": Row(_smec.no_truncation, PAPER),
    "smec/no-ucb": Row(_smec.no_ucb, PAPER),
    "smec/random": Row(_smec.random, PAPER),
    "smec/myopic": Row(_smec.smec, PAPER, frozenset({"handback"})),
    "smec/handback": Row(
        _smec.handback, "reprise, docs/decisions/0016-handback.md", frozenset({"handback"})
    ),
}


@cache
def rows() -> dict[str, Row]:
    """Every method by name: ours, and what installed packages add."""
    ours = METHODS | ABLATIONS
    return ours | {
        name: Row(partial(_built, name, entry), entry.value.paper, package=entry.package)
        for name, entry in added("method", lambda registry: registry.methods, ours).items()
    }


def _built(name: str, entry: Entry[MethodRow], h: int, c: float) -> Method:
    """A plugin's method, or one line about the plugin."""
    return call(entry.package, f"method {name!r}", lambda: entry.value.build(h, c), Method)


def _row(name: str) -> Row:
    """A line of the table; plugins are only asked for what is not ours."""
    known = METHODS | ABLATIONS
    if name not in known and name not in (known := rows()):
        raise unknown("method", name, known)
    return known[name]


class Setup(NamedTuple):
    """A method tuned to a task, when things happen, and for how long."""

    method: Method
    schedule: Schedule
    steps: int


_SMALL: dict[str, Any] = {
    "hidden": (256, 256),
    "layer_norm": True,
    "values": Categorical(),
    "other_values": Categorical(),
    "bounded": True,
    "handback": True,
    "learning_rate": 3e-4,
    "smoothing": 5e-3,
    "imitation": 0.0,
    "heads_per_row": 1,
    "n_step": 10,
    "other_n_step": 10,
    "success_share": 0.5,
    "discount": 0.99,
    "action_repeat": 1,
    "updates_per_step": 1.0,
    "warmup": 10_000,
    "steps": 300_000,
    "log_every": 1_000,
    "evaluate_every": 10_000,
}
_PAPER: dict[str, Any] = {
    "hidden": (400, 400, 400),
    "layer_norm": False,
    "values": Scalar(),
    "other_values": Scalar(),
    "bounded": False,
    "handback": False,
    "learning_rate": 3e-4,
    "smoothing": 5e-3,
    "imitation": 0.0,
    "heads_per_row": None,
    "n_step": 1,
    "other_n_step": 1,
    "success_share": 0.0,
    "discount": 0.99,
    "action_repeat": 1,
    "updates_per_step": 1.0,
    "warmup": 50_000,
    "steps": 1_000_000,
    "log_every": 1_000,
    "evaluate_every": 10_000,
}
_CRITIC = ["discount", "hidden", "layer_norm", "values", "other_values", "bounded"]
_REACH = ["n_step", "other_n_step"]
_SCHEDULE = [
    "warmup", "action_repeat", "updates_per_step", "success_share", "log_every", "evaluate_every",
]  # fmt: skip
_METHOD = ["learning_rate", "smoothing", "imitation"]


def prepare(
    name: str, task: Task, preset: Preset = "small", action_repeat: int | None = None
) -> Setup:
    """A named method with the task's h and c and the preset's networks and budget.

    h, the discount and the range of rewards are those of an action that is held as long as the
    preset says, or for `action_repeat` steps.
    """
    row = _row(name)
    sizes = dict(_PAPER) if preset == "paper" else _SMALL | dict(task.small)
    if action_repeat is not None:
        sizes |= {"action_repeat": action_repeat}
    task = task.repeated(sizes["action_repeat"])
    sizes |= {"discount": round(sizes["discount"] ** task.repeat, 6)}
    method = row.build(task.h, task.c)
    own = {key: value for key, value in sizes.items() if key not in row.fixed}
    critic = _critic(method.critic, own, task)
    actor = replace(method.actor, hidden=sizes["hidden"]).after_warmup(sizes["warmup"])
    method = replace(
        method,
        critic=critic,
        actor=actor,
        planner=method.planner.with_hidden(sizes["hidden"]),
        reward_lower_bound=_times(task) * task.reward_lower_bound,
        **{key: sizes[key] for key in _METHOD},
    )
    schedule = Schedule(
        **{key: sizes[key] for key in _SCHEDULE},
        checkpoint_every=sizes["evaluate_every"],
    )
    return Setup(method, schedule, sizes["steps"])


def _critic(critic: Critic, sizes: dict[str, Any], task: Task) -> Critic:
    """The critic in the preset's sizes, as far as they are its own."""
    keys = [*_CRITIC, *(_REACH if critic.heads_are_policies else ())]
    if isinstance(critic, HybridCritic):
        keys += ["heads_per_row", "handback"]
    values = {key: sizes[key] for key in keys if key in sizes}
    if values.get("handback", getattr(critic, "handback", False)):
        # A prior's head that goes on with the task policy's value does so after every step.
        values.pop("other_n_step", None)
    return replace(critic, **values, **_rewards(task))


def _rewards(task: Task) -> dict[str, Any]:
    """The range of what one action can earn."""
    known = task.reward_range and tuple(_times(task) * reward for reward in task.reward_range)
    return {"reward_range": known, "reward_once": task.reward_once}


def _times(task: Task) -> float:
    """How many rewards an action that is held adds up; one that comes once does not add up."""
    return 1.0 if task.reward_once else float(task.repeat)
