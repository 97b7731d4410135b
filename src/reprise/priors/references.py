"""What a prior reference names: `zoo:<name>`, `run:<folder>`, a policy, a folder of them."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files as package_files
from pathlib import Path

from reprise.errors import PolicyFileError, UserError, unknown
from reprise.priors.library import Foreign, Priors
from reprise.priors.policy import Policy, load


def zoo() -> Path:
    """The folder of shipped policies."""
    return Path(str(package_files("reprise"))) / "zoo"


def resolve(refs: Sequence[str]) -> Priors:
    """The priors that some references name, in order."""
    found = [(policy, ref) for ref in refs for policy in _policies(ref)]
    return Priors([policy for policy, _ in found], [ref for _, ref in found])


def _policies(ref: str) -> Sequence[Policy | Foreign]:
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
