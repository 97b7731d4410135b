"""Every prior of a run, asked together and guarded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from reprise.boundary.errors import UserError
from reprise.core.types import Advice, Gaussian
from reprise.priors.formats.own import RESERVED, Policy
from reprise.priors.guard import Faults, Unusable, attempt
from reprise.priors.prior import Foreign, PriorRecord


class Priors:
    """Frozen policies, asked together: observations (n, obs) -> Advice (n, priors)."""

    def __init__(self, policies: Sequence[Policy | Foreign] = (), refs: Sequence[str] = ()) -> None:
        self.policies = tuple(policies)
        self.names = tuple(policy.card.name for policy in policies)
        refs = refs or [""] * len(self.policies)
        self.records = tuple(
            PriorRecord(p.card.name, ref, p.card.kind, p.card.sha256)
            for p, ref in zip(policies, refs, strict=True)
        )
        self._groups = _groups(self.policies)
        for name in self.names:
            if name in RESERVED or self.names.count(name) > 1:
                raise UserError(f"prior name {name!r} is taken or reserved; rename the policy")

    def __len__(self) -> int:
        return len(self.policies)

    def __call__(self, obs: np.ndarray, action_dim: int, faults: Faults | None = None) -> Advice:
        """Every prior's advice in several states; `faults` remembers what went wrong."""
        faults = faults or Faults.none(len(self))
        said = self.policies[0].card.action_dim if self.policies else action_dim
        shape = (len(obs), len(self), said)
        mean, log_std = np.zeros(shape, np.float32), np.zeros(shape, np.float32)
        valid = np.zeros(shape[:2], np.bool_)
        faults.calls += 1
        for group in self._groups:
            group(obs, Answers(mean, log_std, valid), faults)
        return Advice(Gaussian(mean, log_std), valid)  # pyright: ignore

    def alone(self, place: int, faults: Faults | None = None) -> Callable[[np.ndarray], np.ndarray]:
        """One prior's deterministic actions in several states, guarded as in training."""
        single = Priors([self.policies[place]])
        return lambda obs: np.tanh(single(obs, 0, faults).says.mean[:, 0])  # pyright: ignore

    def fit(self, obs_dim: int, action_dim: int, task: str) -> None:
        """Check that every prior speaks this task's sizes."""
        for policy, record in zip(self.policies, self.records, strict=True):
            card = policy.card
            if (card.obs_dim, card.action_dim) != (obs_dim, action_dim):
                raise UserError(
                    f"prior {card.name!r} ({record.ref}) takes {card.obs_dim} observations and "
                    f"gives {card.action_dim} actions; task {task!r} has {obs_dim} and "
                    f"{action_dim}; an adapter beside the policy can map them (docs/priors.md)"
                )


class Answers(NamedTuple):
    """The arrays that a call fills, prior by prior."""

    mean: np.ndarray
    log_std: np.ndarray
    valid: np.ndarray


Group = Callable[[np.ndarray, Answers, Faults], None]


def _groups(policies: Sequence[Policy | Foreign]) -> list[Group]:
    """Networks of one architecture answer in one batched product per layer, others alone."""
    alike: dict[object, list[int]] = {}
    for i, policy in enumerate(policies):
        key = _architecture(policy) if isinstance(policy, Policy) else i
        alike.setdefault(key, []).append(i)
    return [_group(policies, members) for members in alike.values()]


def _group(policies: Sequence[Policy | Foreign], members: list[int]) -> Group:
    first = policies[members[0]]
    if isinstance(first, Foreign):
        return _foreign(first, members[0])
    return _networks([p for i in members if isinstance(p := policies[i], Policy)], members)


def _architecture(policy: Policy) -> object:
    """What networks must share to be asked in one product."""
    card = policy.card
    scales = None if card.normalizer is None else id(policy)
    box = card.action_low, card.action_high
    return card.kind, card.activation, scales, box, tuple(w.shape for w in policy.weights)


def _stack(policies: Sequence[Policy]) -> Policy:
    """K policies at once: a policy's arithmetic broadcasts over a leading axis."""
    depth = range(len(policies[0].weights))
    weights = tuple(np.stack([p.weights[i] for p in policies]) for i in depth)
    biases = tuple(np.stack([p.biases[i] for p in policies])[:, None] for i in depth)
    return Policy(policies[0].card, weights, biases)


def _networks(policies: Sequence[Policy], members: list[int]) -> Group:
    stack, places = _stack(policies), np.asarray(members)

    def fill(obs: np.ndarray, answers: Answers, faults: Faults) -> None:
        with np.errstate(all="ignore"):  # an overflow is found below, as a non-finite answer
            mean, log_std = stack(obs[None])
        fine = np.isfinite(mean).all(axis=-1).T & np.isfinite(log_std).all(axis=-1).T
        answers.mean[:, places] = mean.swapaxes(0, 1)
        answers.log_std[:, places] = log_std.swapaxes(0, 1)
        answers.valid[:, places] = fine
        for i in places[~fine.all(axis=0)]:
            _silence(answers, int(i))
            faults.note(int(i), "returned a non-finite action")
        for i in members:
            if faults.aside[i] is not None:
                _silence(answers, i)

    return fill


def _foreign(prior: Foreign, place: int) -> Group:
    def fill(obs: np.ndarray, answers: Answers, faults: Faults) -> None:
        if faults.aside[place] is not None:
            return
        try:
            says, clipped = attempt(prior.act, obs, answers.mean.shape[2])
        except Unusable as unusable:
            faults.note(place, str(unusable))
            return
        answers.mean[:, place], answers.log_std[:, place] = says
        answers.valid[:, place] = True
        faults.clipped[place] += clipped

    return fill


def _silence(answers: Answers, place: int) -> None:
    answers.mean[:, place] = answers.log_std[:, place] = 0.0
    answers.valid[:, place] = False
