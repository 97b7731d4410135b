"""Policies in ONNX, run by onnxruntime on one thread; needs `pip install 'reprise[onnx]'`.

The first output is an action in [-1, 1]; what lies outside is cut off.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from reprise.boundary import files
from reprise.boundary.errors import PolicyFileError, UserError
from reprise.core.types import Gaussian
from reprise.priors.card import named
from reprise.priors.formats.own import Policy
from reprise.priors.source import read, shown

NEEDED = ("onnx", "onnxruntime")
LARGEST = 32 * 2**20
Ask = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class OnnxCard:
    """What is known about a policy in ONNX."""

    obs_dim: int
    action_dim: int
    name: str
    sha256: str
    kind: str = "onnx"


@dataclass(frozen=True, eq=False)
class OnnxPolicy:
    """A frozen model that computes actions."""

    card: OnnxCard
    ask: Ask
    one_by_one: bool
    """Whether the model only takes one state at a time."""

    def act(self, obs: np.ndarray) -> np.ndarray:
        """Whatever the model computes for several observations (n, obs)."""
        obs = np.asarray(obs, np.float32)
        rows = [obs[i : i + 1] for i in range(len(obs))] if self.one_by_one else [obs]
        return np.concatenate([self.ask(row) for row in rows])

    def __call__(self, obs: np.ndarray) -> Gaussian:
        """What it says about several observations (n, obs)."""
        return Gaussian.deterministic(self.act(obs))


def load(path: Path, name: str | None = None) -> OnnxPolicy:
    """A model with one input (batch or 1, obs) and an action as its first output."""
    _require_extra()
    from reprise.priors.formats import onnxgraph

    data, origin = read(path, LARGEST), shown(path)
    name = named(path.stem if name is None else name, origin)
    sizes = onnxgraph.check(data, origin)
    card = OnnxCard(sizes.obs, sizes.action, name, files.sha256(data))
    try:
        policy = OnnxPolicy(card, _start(data), sizes.one_by_one)
        said = policy(np.zeros((onnxgraph.SEVERAL, sizes.obs), np.float32))
    except Exception as error:  # onnxruntime's errors have no class of their own in common
        rule = f"onnxruntime cannot run it: {onnxgraph.plain(error)}"
        raise PolicyFileError(f"{origin}: {rule}") from error
    if said.mean.shape != (onnxgraph.SEVERAL, sizes.action):
        raise PolicyFileError(f"{origin}: it gives {said.mean.shape}, not (batch, action)")
    return policy


def export(policy: Policy, path: Path) -> None:
    """Write a policy as a model whose output is its deterministic action in [-1, 1]."""
    _require_extra()
    from reprise.priors.formats import onnxexport

    files.write_bytes(path, onnxexport.model(policy))


def _require_extra() -> None:
    if any(find_spec(name) is None for name in NEEDED):
        raise UserError("an ONNX policy needs onnx and onnxruntime: pip install 'reprise[onnx]'")


def _start(data: bytes) -> Ask:
    import onnxruntime

    runtime: Any = onnxruntime  # most of its names only exist at run time
    options = runtime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.execution_mode = runtime.ExecutionMode.ORT_SEQUENTIAL
    # Optimizing would compute constant parts now, and is of no use to a small network.
    options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.enable_cpu_mem_arena = False
    options.log_severity_level = 4
    options.add_session_config_entry("session.load_model_format", "ONNX")
    session = runtime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
    given, wanted = session.get_inputs()[0].name, session.get_outputs()[0].name
    return lambda obs: session.run([wanted], {given: obs})[0]
