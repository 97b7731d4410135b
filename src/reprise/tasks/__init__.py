"""Tasks by name."""

from __future__ import annotations

from functools import cache

from reprise.io.errors import unknown
from reprise.tasks import antmaze, gym, metaworld, pointmaze
from reprise.tasks.task import Arena, Picture, Step, Task

__all__ = ["Arena", "Picture", "Step", "Task", "find", "listed", "picture"]


@cache
def listed() -> dict[str, Task]:
    """Every task with a name of its own; `gym/<id>` comes on top."""
    named = (*pointmaze.tasks(), *antmaze.tasks(), *metaworld.tasks())
    return {task.id: task for task in named}


def find(id: str) -> Task:
    """The task with that name."""
    if id.startswith("gym/"):
        return gym.task(id.removeprefix("gym/"))
    if id not in listed():
        hint = "`reprise tasks list` shows all; any Gymnasium environment is gym/<id>"
        raise unknown("task", id, listed(), hint)
    if id.startswith("metaworld/"):
        metaworld.check_installed(id)
    return listed()[id]


def picture(id: str) -> Picture | None:
    """What is drawn under the paths of a task, which need not be installed here."""
    known = listed().get(id)
    return known.picture if known else None
