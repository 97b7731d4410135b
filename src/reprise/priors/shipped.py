"""The shipped policies, and the named sets of them."""

from __future__ import annotations

from importlib.resources import files as package_files
from pathlib import Path

from reprise.boundary.errors import UserError, unknown
from reprise.tasks.metaworld import SPARSE

MAIN = ("reach", "push", "pick-place")
MORE = ("push-back", "hammer", "shelf-place")
SETS = ("set1", "set2", "set3", "set4")
"""The paper's sets for Meta-World, each with the policies of the one before it."""
WEAK = "-weak"


def zoo() -> Path:
    """The folder of shipped policies."""
    return Path(str(package_files("reprise.priors"))) / "zoo"


def shipped() -> list[str]:
    """Every shipped policy, such as `pointmaze/ne`."""
    found = zoo().glob("*/*/policy.json")
    return sorted(path.parent.relative_to(zoo()).as_posix() for path in found)


def members(name: str, task: str) -> list[str]:
    """The shipped policies that a name means: one, a folder of them, or a set for a task."""
    known = shipped()
    folders = {policy.partition("/")[0] for policy in known}
    if name in known:
        return [name]
    if name in SETS or name == "metaworld":
        return [f"metaworld/{policy}" for policy in _set(name, task)]
    if name not in folders:
        raise unknown("prior", f"zoo:{name}", [f"zoo:{n}" for n in (*known, *folders, *SETS)])
    return [policy for policy in known if policy.startswith(f"{name}/")]


def _set(name: str, task: str) -> tuple[str, ...]:
    """A set of Meta-World's policies; without a number, those of the paper's main experiment."""
    if name in ("metaworld", "set1"):
        return MAIN
    if name == "set2":
        return (*MAIN, *MORE)
    good = task.removeprefix("metaworld/").removesuffix(SPARSE)
    weak = good + WEAK
    if f"metaworld/{weak}" not in shipped():
        having = [p.removesuffix(WEAK) for p in shipped() if p.endswith(WEAK)]
        raise UserError(f"zoo:{name} exists for {' and '.join(having)}, not for task {task!r}")
    return (*MAIN, *MORE, weak) if name == "set3" else (*MAIN, *MORE, weak, good)
