"""Many runs: in order, a few at a time, on this machine or on Ray, and on again after a stop."""

from __future__ import annotations

from reprise.suites.launch.cluster import Cluster
from reprise.suites.launch.drive import AS_GIVEN, Order, Outcome, Plan, State, launch
from reprise.suites.launch.job import Job, failure
from reprise.suites.launch.workers import Processes, Workers

__all__ = [
    "AS_GIVEN",
    "Cluster",
    "Job",
    "Order",
    "Outcome",
    "Plan",
    "Processes",
    "State",
    "Workers",
    "failure",
    "launch",
]
