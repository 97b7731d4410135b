"""Many runs: in order, a few at a time, on this machine or on Ray, and on again after a stop."""

from __future__ import annotations

from reprise.launch.cluster import Cluster
from reprise.launch.drive import Outcome, State, launch
from reprise.launch.job import Job, failure
from reprise.launch.workers import Processes, Workers

__all__ = [
    "Cluster",
    "Job",
    "Outcome",
    "Processes",
    "State",
    "Workers",
    "failure",
    "launch",
]
