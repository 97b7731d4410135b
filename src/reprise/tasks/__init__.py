"""Tasks by name."""

from __future__ import annotations

from functools import cache

from reprise.boundary.errors import UserError, unknown
from reprise.boundary.plugins import Entry, Family, PluginFault, added, call, report
from reprise.tasks import antmaze, gym, metaworld, pointmaze
from reprise.tasks.task import Arena, Picture, Step, Task

__all__ = ["Arena", "Picture", "Step", "Task", "families", "find", "listed", "picture", "shipped"]


@cache
def shipped() -> dict[str, Task]:
    """Every task of ours with a name of its own; `gym/<id>` comes on top."""
    named = (*pointmaze.tasks(), *antmaze.tasks(), *metaworld.tasks())
    return {task.id: task for task in named}


@cache
def families() -> dict[str, Entry[Family]]:
    """The families of tasks that installed packages add."""
    taken = {"gym", *(task.family for task in shipped().values())}
    return added("task family", lambda registry: registry.families, taken)


@cache
def listed() -> dict[str, Task]:
    """Every task with a name of its own: ours, and those that plugins name."""
    known = dict(shipped())
    for prefix, (_, family) in families().items():
        for id in (f"{prefix}/{name}" for name in family.names):
            try:
                known[id] = find(id)
            except UserError as error:
                report(str(error))
    return known


def find(id: str) -> Task:
    """The task with that name."""
    if id.startswith("gym/"):
        return gym.task(id.removeprefix("gym/"))
    if id not in shipped():
        return _added(id)
    if id.startswith("metaworld/"):
        metaworld.check_installed(id)
    return shipped()[id]


def _added(id: str) -> Task:
    """A plugin's task."""
    prefix, _, name = id.partition("/")
    if prefix not in families():
        if gym.known(id):
            raise UserError(f"unknown task {id!r}; as a Gymnasium environment it is gym/{id}")
        hint = "`reprise tasks list` shows all; any Gymnasium environment is gym/<id>"
        raise unknown("task", id, listed(), hint)
    package, family = families()[prefix]
    try:
        task = call(package, f"task {id!r}", lambda: family.find(name), Task)
    except PluginFault as fault:
        if isinstance(fault.__cause__, KeyError):
            raise unknown("task", id, (f"{prefix}/{known}" for known in family.names)) from fault
        raise
    if task.id != id:
        raise PluginFault(f"task {id!r} of package {package!r} calls itself {task.id!r}")
    return task


def picture(id: str) -> Picture | None:
    """What is drawn under the paths of a task, which need not be installed here."""
    try:
        known = shipped().get(id) or (find(id) if id.partition("/")[0] in families() else None)
    except UserError:
        return None
    return known.picture if known else None
