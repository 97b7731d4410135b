"""A run folder boiled down to what must be equal between two equal runs."""

from __future__ import annotations

import csv
import hashlib
import json
from pathlib import Path
from typing import Any

TIMES = ("steps_per_second",)


def rows(path: Path) -> list[dict[str, str]]:
    """A table without its time columns."""
    with path.open() as file:
        table = list(csv.DictReader(file))
    return [{k: v for k, v in row.items() if k not in TIMES} for row in table]


def digest(folder: Path) -> dict[str, Any]:
    """Parameters, optimizers, buffer, counts, random states, tables and the learned policy."""
    last = sorted((folder / "checkpoints").glob("step-*"))[-1]
    found: dict[str, Any] = {"last": last.name}
    for name in ("agent.safetensors", "loop.safetensors"):
        found[name] = sha(last / name)
    state = json.loads((last / "state.json").read_text())
    state["tables"] = None  # sizes of tables that hold times
    found["state"] = state
    segments = json.loads((last / "manifest.json").read_text())["replay"]
    found["replay rows"] = segments[-1]["stop"]
    for name in ("policy/policy.safetensors", "checkpoints/best/policy.safetensors"):
        found[name] = sha(folder / name)
    for name in ("metrics", "eval", "switches", "tracks"):
        found[name] = rows(folder / f"{name}.csv")
    return found


def replay(folder: Path) -> bytes:
    """Every row of the buffer, however it was cut into segments."""
    from safetensors.numpy import load

    last = sorted((folder / "checkpoints").glob("step-*"))[-1]
    segments = json.loads((last / "manifest.json").read_text())["replay"]
    parts = [load((folder / "checkpoints/replay" / s["file"]).read_bytes()) for s in segments]
    return b"".join(part[name].tobytes() for name in sorted(parts[0]) for part in parts)


def sha(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
