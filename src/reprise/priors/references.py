"""What a prior reference names, and the one place that knows every format."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from reprise.io.errors import PolicyFileError, UserError
from reprise.priors import adapter
from reprise.priors.formats import code, onnx, sb3, scripted
from reprise.priors.formats.own import Policy, load
from reprise.priors.library import Priors
from reprise.priors.prior import Foreign
from reprise.priors.shipped import members, zoo
from reprise.priors.source import shown

Found = Policy | Foreign
FORMS = "zoo:<name>, run:<folder>, metaworld:<task>, a policy's file or folder, or a folder of them"


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
    return code.from_file(path, trusted=trusted) if path.suffix == ".py" else None


def _adapted(prior: Found, path: Path) -> Found:
    return adapter.fitted(prior, _actions(prior), path) if path.exists() else prior


def _actions(prior: Found) -> Callable[[np.ndarray], np.ndarray]:
    """A prior's deterministic actions."""
    if isinstance(prior, Foreign):
        return prior.act
    return lambda obs: np.tanh(prior(obs).mean)  # pyright: ignore
