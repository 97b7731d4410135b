"""Checkpoints: a folder that appears whole or not at all, with the hash of every byte in it.

    checkpoints/
      step-000005000/   agent.safetensors  loop.safetensors  state.json  manifest.json
      step-000010000/   ...
      replay/           rows-000000000-000005000.safetensors ...   each written once, shared

The replay buffer is the bulk of a run. Its rows never change once written, so each checkpoint
adds only the rows since the last one and lists, with their hashes, all that it needs.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from reprise.boundary import arrays, files
from reprise.boundary.errors import CheckpointError
from reprise.core.agent import Agent
from reprise.training.saved import capture, replay_like, restore
from reprise.training.state import Loop

SCHEMA = 1
KEEP = 2
SEGMENTS = "replay"
T = TypeVar("T")


def save(folder: Path, loop: Loop, extra: dict[str, Any]) -> None:
    """Write a checkpoint of the loop, then forget all but the last two."""
    final = folder / f"step-{loop.step:09d}"
    if final.exists():
        return
    temporary = folder / f".{final.name}.tmp"
    shutil.rmtree(temporary, ignore_errors=True)
    try:
        temporary.mkdir(parents=True)
        (folder / SEGMENTS).mkdir(exist_ok=True)
        state, loop_arrays = capture(loop)
        contents = {
            "agent.safetensors": arrays.pack(arrays.named(loop.agent)),
            "loop.safetensors": arrays.pack(loop_arrays),
            "state.json": json.dumps(state | extra, allow_nan=False).encode(),
        }
        for name, data in contents.items():
            files.write_durably(temporary / name, data)
        hashes = {name: files.sha256(data) for name, data in contents.items()}
        segments = _save_replay(folder, loop)
        manifest = {"schema": SCHEMA, "step": loop.step, "files": hashes, "replay": segments}
        files.write_durably(temporary / "manifest.json", json.dumps(manifest).encode())
        files.sync_folder(temporary)
        os.rename(temporary, final)
        files.sync_folder(folder)
    except OSError as error:
        shutil.rmtree(temporary, ignore_errors=True)
        raise files.unwritable(final, error) from error
    _prune(folder)


def _save_replay(folder: Path, loop: Loop) -> list[dict[str, Any]]:
    """Write the rows that no segment holds yet; list the segments that hold all rows."""
    oldest = loop.replay.added - len(loop.replay)
    known = _listed(folder)
    needed = [segment for segment in known if segment["stop"] > oldest]
    start = needed[-1]["stop"] if needed else oldest
    if start < loop.replay.added:
        stop = loop.replay.added
        name = f"rows-{start:09d}-{stop:09d}.safetensors"
        data = arrays.pack(arrays.named(loop.replay.rows(start, stop)))
        files.write_bytes(folder / SEGMENTS / name, data)
        digest = files.sha256(data)
        needed.append({"file": name, "start": start, "stop": stop, "sha256": digest})
    return needed


def _listed(folder: Path) -> list[dict[str, Any]]:
    """The segments that the newest readable manifest lists."""
    for path in _newest_first(folder):
        try:
            return json.loads((path / "manifest.json").read_bytes())["replay"]
        except (OSError, ValueError, KeyError):
            continue
    return []


def _newest_first(folder: Path) -> list[Path]:
    return sorted(folder.glob("step-*"), reverse=True)


def _prune(folder: Path) -> None:
    """Keep the last checkpoints and the segments they list."""
    for path in _newest_first(folder)[KEEP:]:
        shutil.rmtree(path, ignore_errors=True)
    try:
        manifests = [_manifest(path) for path in _newest_first(folder)]
    except CheckpointError:
        return  # somebody damaged one; remove nothing that it may need
    kept = {segment["file"] for manifest in manifests for segment in manifest["replay"]}
    for path in (folder / SEGMENTS).iterdir():
        if path.name not in kept:
            path.unlink(missing_ok=True)


def load(
    folder: Path, loop: Loop, warn: Callable[[str], None], *, tidy: bool = False
) -> dict[str, Any] | None:
    """Fill the loop from the newest sound checkpoint; damaged ones are named and passed over.

    Returns the checkpoint's state, or None if there is no checkpoint at all. Who goes on writing
    there asks for `tidy`: damaged ones are set aside.
    """
    return _newest(folder, lambda path: _load(path, folder, loop), warn, tidy)


def load_agent(folder: Path, like: Agent, warn: Callable[[str], None]) -> tuple[Agent, int] | None:
    """What had been learned at the newest sound checkpoint, and after how many steps.

    Neither the replay buffer nor the priors are needed for it.
    """
    return _newest(folder, lambda path: _load_agent(path, like), warn)


def _newest(
    folder: Path, read: Callable[[Path], T], warn: Callable[[str], None], tidy: bool = False
) -> T | None:
    """What is read of the newest checkpoint that can be read; None if there is none at all."""
    found = _newest_first(folder)
    for path in found:
        try:
            return read(path)
        except CheckpointError as error:
            warn(f"{path.name} is damaged, using the checkpoint before it: {error}")
            if tidy:
                _set_aside(path)
    if found:
        raise CheckpointError(f"no checkpoint in {folder} can be read; start the run again")
    return None


def _set_aside(path: Path) -> None:
    """Out of the way of the checkpoint that will be written at the same step again."""
    aside = path.with_name(f"damaged-{path.name}")
    shutil.rmtree(aside, ignore_errors=True)
    os.rename(path, aside)


def _load_agent(path: Path, like: Agent) -> tuple[Agent, int]:
    manifest, name = _manifest(path), "agent.safetensors"
    origin = str(path / name)
    data = _verified(path / name, manifest["files"][name])
    return arrays.fill(like, arrays.unpack(data, origin), origin), int(manifest["step"])


def _load(path: Path, folder: Path, loop: Loop) -> dict[str, Any]:
    manifest = _manifest(path)
    contents = {name: _verified(path / name, digest) for name, digest in manifest["files"].items()}
    segments = [
        (segment, _verified(folder / SEGMENTS / segment["file"], segment["sha256"]))
        for segment in manifest["replay"]
    ]
    state = json.loads(contents["state.json"])
    origin = str(path / "agent.safetensors")
    agent = arrays.fill(loop.agent, arrays.unpack(contents["agent.safetensors"], origin), origin)
    saved = arrays.unpack(contents["loop.safetensors"], str(path / "loop.safetensors"))
    for segment, rows in _rows(segments, loop):
        loop.replay.put(segment["start"], rows)
    loop.agent = agent
    restore(loop, state, saved)
    return state


def _rows(
    segments: list[tuple[dict[str, Any], bytes]], loop: Loop
) -> Iterator[tuple[dict[str, Any], Any]]:
    for segment, data in segments:
        origin = segment["file"]
        like = replay_like(loop, segment["stop"] - segment["start"])
        yield segment, arrays.fill(like, arrays.unpack(data, origin), origin)


def _manifest(path: Path) -> dict[str, Any]:
    try:
        manifest = json.loads((path / "manifest.json").read_bytes())
        if manifest["schema"] != SCHEMA:
            raise CheckpointError(f"{path} has schema {manifest['schema']}, expected {SCHEMA}")
        wanted = {"agent.safetensors", "loop.safetensors", "state.json"}
        if set(manifest["files"]) != wanted or not isinstance(manifest["replay"], list):
            raise CheckpointError(f"{path} lists other files than a checkpoint has")
        return manifest
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CheckpointError(f"{path}: manifest.json cannot be read") from error


def _verified(path: Path, digest: str) -> bytes:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise CheckpointError(f"{path} cannot be read: {error.strerror}") from error
    if files.sha256(data) != digest:
        raise CheckpointError(f"{path} was truncated or altered (its SHA-256 differs)")
    return data
