"""What a prior reference names, and the one place that knows every format."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from reprise.boundary import files
from reprise.boundary.errors import PolicyFileError, UserError
from reprise.boundary.plugins import Entry, PluginFault, added, call
from reprise.priors import adapter
from reprise.priors.formats import code, onnx, sb3, scripted
from reprise.priors.formats.code import habit
from reprise.priors.formats.own import Policy, load
from reprise.priors.library import Priors
from reprise.priors.prior import Foreign, ForeignCard
from reprise.priors.shipped import members, zoo
from reprise.priors.source import read, shown

Found = Policy | Foreign
FORMS = "zoo:<name>, run:<folder>, metaworld:<task>, a policy's file or folder, or a folder of them"


FORMATS = {
    ".json": "reprise's own: a folder with policy.json and policy.safetensors",
    ".zip": "Stable-Baselines3: SAC, TD3, DDPG, PPO, A2C",
    ".onnx": "ONNX: a model from observations to actions",
    ".py": "Python with a function `policy`, run only with --trust-code",
}
"""The formats of ours, by the ends of their files' names."""


@cache
def added_formats() -> dict[str, Entry[Callable[[bytes], Any]]]:
    """The formats that installed packages add, by suffix."""
    taken = {*FORMATS, ".safetensors"}
    return added("prior format", lambda registry: registry.formats, taken)


def resolve(refs: Sequence[str], *, task: str = "", trust_code: bool = False) -> Priors:
    """The priors that some references name for a task; code only runs if it is trusted."""
    found = [(prior, ref) for ref in refs for prior in _priors(ref, task, trust_code)]
    return Priors([prior for prior, _ in found], [ref for _, ref in found])


def _priors(ref: str, task: str, trusted: bool) -> list[Found]:
    kind, _, rest = ref.partition(":")
    if kind == "zoo":
        return [load(zoo() / name) for name in members(rest, task)]
    if kind == "run":
        return [load(Path(rest) / "policy")]
    if kind == "metaworld":
        script = scripted.expert(rest)
        return [Foreign(script.card, script.act)]
    if kind == "python":
        return [code.from_module(ref, trusted=trusted)]
    return _path(Path(ref), ref, trusted)


def _path(path: Path, ref: str, trusted: bool) -> list[Found]:
    """One policy, or every policy of a folder sorted by name."""
    if path.name in ("policy.json", "policy.safetensors"):
        path = path.parent
    try:
        if (one := _open(path, trusted)) is not None:
            return [one]
        if not path.is_dir():
            why = "is not a policy" if path.exists() else "names no file or folder"
            raise UserError(f"unknown prior {ref!r}: it {why} (a prior is {FORMS})")
        inside = sorted(p for p in path.iterdir() if not p.is_symlink())
    except (OSError, ValueError) as error:
        raise UserError(f"prior {ref!a} cannot be read: {error}") from error
    policies = [one for p in inside if (one := _open(p, trusted)) is not None]
    if not policies:
        raise PolicyFileError(f"{shown(path)} holds no policy (a prior is {FORMS})")
    return policies


def _open(path: Path, trusted: bool) -> Found | None:
    """The policy at a path, behind its adapter if there is one; None if it is not a policy."""
    if (path / "policy.json").exists():
        return _adapted(load(path), path / "adapter.json")
    if not path.is_file():
        return None
    beside = path.with_suffix(".adapter.json")
    if path.suffix == ".zip":
        return _adapted(sb3.load(path), beside)
    if path.suffix == ".onnx":
        model = onnx.load(path)
        return _adapted(Foreign(model.card, model.act), beside)
    if path.suffix == ".py":
        return code.from_file(path, trusted=trusted)
    return _adapted(_added(path), beside) if path.suffix in added_formats() else None


def _added(path: Path) -> Found:
    """A prior in a plugin's format, which is given the bytes and never the path."""
    package, load = added_formats()[path.suffix]
    data, name = read(path), shown(path)
    try:
        made = call(package, f"format {path.suffix!r}", lambda: load(data), object)
    except PluginFault as fault:
        raise PolicyFileError(f"{name} cannot be read: {fault}") from fault
    act, sizes = habit(made, name)
    kind = path.suffix.removeprefix(".")
    return Foreign(ForeignCard(path.stem, kind, files.sha256(data), *sizes), act)


def _adapted(prior: Found, path: Path) -> Found:
    return adapter.fitted(prior, _actions(prior), path) if path.exists() else prior


def _actions(prior: Found) -> Callable[[np.ndarray], np.ndarray]:
    """A prior's deterministic actions."""
    if isinstance(prior, Foreign):
        return prior.act
    return lambda obs: np.tanh(prior(obs).mean)  # pyright: ignore
