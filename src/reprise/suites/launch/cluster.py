"""Runs on Ray: one task per run, a recipe as JSON in, files out."""

from __future__ import annotations

import logging
import os
from importlib.util import find_spec
from typing import Any

from reprise.boundary.errors import UserError
from reprise.suites.launch.job import Job, perform
from reprise.suites.launch.workers import Workers

LOCAL = "local"
LOOPBACK = "127.0.0.1"


class Cluster(Workers):
    """A Ray cluster: the one at an address, or one of its own on this machine's loopback.

    All its machines must see the suite's folder under the same path.
    """

    def __init__(self, address: str, places: int | None = None) -> None:
        self._ray = ray = connect(address, places)
        # A cluster that grows on demand may have no core before the first run asks for one.
        self.places = places or max(1, int(ray.cluster_resources().get("CPU", 0)))
        # Tried again by whoever launched it, which knows about checkpoints; not by Ray.
        self._perform = ray.remote(num_cpus=1, max_retries=0)(perform)
        self._running: dict[Any, str] = {}

    def start(self, job: Job) -> None:
        """One task, on whichever machine has a core free."""
        self._running[self._perform.remote(job.message)] = job.name

    def finished(self, patience: float) -> list[str]:
        """The tasks that have ended, however."""
        ended, _ = self._ray.wait(list(self._running), num_returns=1, timeout=patience)
        return [self._running.pop(task) for task in ended]

    def stop(self) -> None:
        """Interrupt every task."""
        for task in self._running:
            self._ray.cancel(task)  # as Ctrl-C: the run saves

    def close(self) -> None:
        """Leave the cluster; one of our own ends with that."""
        self._ray.shutdown()


def connect(address: str, places: int | None) -> Any:
    """Ray, connected; a cluster of our own has no dashboard and listens to this machine alone."""
    if find_spec("ray") is None:
        raise UserError(f"ray is {address!r}; Ray is not installed: pip install 'reprise[ray]'")
    import ray  # pyright: ignore[reportMissingImports]

    quiet = {"log_to_driver": False, "logging_level": logging.ERROR}
    options: dict[str, Any] = {"address": address, **quiet}
    if address == LOCAL:
        options |= {"num_cpus": places, "include_dashboard": False, "_node_ip_address": LOOPBACK}
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nobody asked us to report to anyone
    try:
        ray.init(**options)
    except Exception as error:  # Ray raises bare ones, too
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise UserError(f"ray is {address!r}; cannot connect: {reason}") from error
    return ray
