"""Prior policies: where they come from, and how all of them are asked at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.resources import files as package_files
from pathlib import Path
from typing import NamedTuple

import numpy as np

from reprise.errors import PolicyFileError, UserError, unknown
from reprise.priors.policy import RESERVED, Card, Policy, load, save
from reprise.types import Gaussian

__all__ = ["Card", "Policy", "PriorRecord", "Priors", "load", "resolve", "save", "zoo"]


class PriorRecord(NamedTuple):
    """Where a prior came from: what a run's recipe keeps of it."""

    name: str
    ref: str
    format: str
    sha256: str


class Priors:
    """Frozen policies, asked together: observations (n, obs) -> Gaussian (n, priors, action)."""

    def __init__(self, policies: Sequence[Policy] = (), refs: Sequence[str] = ()):
        self.policies = tuple(policies)
        self.names = tuple(policy.card.name for policy in policies)
        refs = refs or [""] * len(self.policies)
        self.records = tuple(
            PriorRecord(p.card.name, ref, p.card.kind, p.card.sha256)
            for p, ref in zip(policies, refs, strict=True)
        )
        self._ask = _together(self.policies)
        for name in self.names:
            if name in RESERVED or self.names.count(name) > 1:
                raise UserError(f"prior name {name!r} is taken or reserved; rename the policy")

    def __len__(self) -> int:
        return len(self.policies)

    def __call__(self, obs: np.ndarray, action_dim: int) -> Gaussian:
        """Every prior's advice in several states."""
        if not self.policies:
            nothing = np.zeros((len(obs), 0, action_dim), np.float32)
            return Gaussian(nothing, nothing)  # pyright: ignore
        return self._ask(obs)

    def fit(self, obs_dim: int, action_dim: int, task: str) -> None:
        """Check that every prior speaks this task's sizes."""
        for policy, record in zip(self.policies, self.records, strict=True):
            card = policy.card
            if (card.obs_dim, card.action_dim) != (obs_dim, action_dim):
                raise UserError(
                    f"prior {card.name!r} ({record.ref}) takes {card.obs_dim} observations and "
                    f"gives {card.action_dim} actions; task {task!r} has {obs_dim} and {action_dim}"
                )


Ask = Callable[[np.ndarray], Gaussian]


def _together(policies: Sequence[Policy]) -> Ask:
    """One batched product per layer where all share an architecture, else one call each."""
    shapes = {tuple(w.shape for w in policy.weights) for policy in policies}
    return _stacked(policies) if len(shapes) == 1 else _one_by_one(policies)


def _stacked(policies: Sequence[Policy]) -> Ask:
    depth = len(policies[0].weights)
    weights = tuple(np.stack([p.weights[i] for p in policies]) for i in range(depth))
    biases = tuple(np.stack([p.biases[i] for p in policies])[:, None] for i in range(depth))
    # A policy's arithmetic broadcasts: with a leading axis over priors it is K policies at once.
    stack = Policy(policies[0].card, weights, biases)

    def ask(obs: np.ndarray) -> Gaussian:
        mean, log_std = stack(obs[None])
        return Gaussian(mean.swapaxes(0, 1), log_std.swapaxes(0, 1))

    return ask


def _one_by_one(policies: Sequence[Policy]) -> Ask:
    def ask(obs: np.ndarray) -> Gaussian:
        said = [policy(obs) for policy in policies]
        means, log_stds = ([getattr(g, part) for g in said] for part in ("mean", "log_std"))
        return Gaussian(np.stack(means, axis=1), np.stack(log_stds, axis=1))  # pyright: ignore

    return ask


def zoo() -> Path:
    """The folder of shipped policies."""
    return Path(str(package_files("reprise"))) / "zoo"


def resolve(refs: Sequence[str]) -> Priors:
    """The priors that some references name, in order."""
    found = [(policy, ref) for ref in refs for policy in _policies(ref)]
    return Priors([policy for policy, _ in found], [ref for _, ref in found])


def _policies(ref: str) -> list[Policy]:
    kind, _, rest = ref.partition(":")
    if kind == "zoo":
        shipped = sorted(p.name for p in zoo().iterdir() if p.is_dir())
        if rest not in shipped:
            raise unknown("prior", ref, [f"zoo:{name}" for name in shipped])
        return _folder(zoo() / rest, ref)
    if kind == "run":
        return [load(Path(rest) / "policy")]
    return _folder(Path(ref), ref)


def _folder(path: Path, ref: str) -> list[Policy]:
    """One policy, or every policy of a folder sorted by name."""
    if path.name in ("policy.json", "policy.safetensors"):
        path = path.parent
    if (path / "policy.json").exists():
        return [load(path)]
    if not path.is_dir():
        hint = "a prior is zoo:<name>, run:<folder>, or a path to a policy or a folder of them"
        raise UserError(f"unknown prior {ref!r}: no such file or folder ({hint})")
    inside = sorted(p for p in path.iterdir() if p.is_dir() and not p.is_symlink())
    policies = [load(p) for p in inside if (p / "policy.json").exists()]
    if not policies:
        raise PolicyFileError(f"{ref} holds no policy (a folder with policy.json in it)")
    return policies
