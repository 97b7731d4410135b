"""reprise: learn a new task faster by reusing the policies you already have."""

from __future__ import annotations

import os
import sys

if "jax" not in sys.modules:
    # JAX rounds differently with another number of threads; one is also the fastest for small nets.
    os.environ.setdefault("NPROC", "1")
if "numpy" not in sys.modules:
    # The priors' products are NumPy's, whose second thread would spin on another run's core.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", os.environ.get("NPROC", "1"))

from reprise.boundary.errors import UserError
from reprise.boundary.plugins import Registry
from reprise.core.critic import HybridCritic, SoftCritic
from reprise.core.method import Method
from reprise.core.planner import TaskPolicy, Uniform, ValueGuided
from reprise.methods import prepare, scratch
from reprise.methods.smec import smec
from reprise.priors import resolve as priors
from reprise.runs.learner import Learner
from reprise.tasks import find as task
from reprise.training.evaluate import evaluate
from reprise.training.loop import train
from reprise.training.schedule import Schedule

__version__ = "0.1.0"

__all__ = [
    "HybridCritic",
    "Learner",
    "Method",
    "Registry",
    "Schedule",
    "SoftCritic",
    "TaskPolicy",
    "Uniform",
    "UserError",
    "ValueGuided",
    "evaluate",
    "prepare",
    "priors",
    "scratch",
    "smec",
    "task",
    "train",
]
