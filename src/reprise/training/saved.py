"""The live state of a run as named arrays and JSON, and back."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from reprise.boundary import arrays
from reprise.boundary.arrays import Arrays
from reprise.boundary.errors import CheckpointError
from reprise.priors import Faults
from reprise.training.state import Loop

COUNTERS = ("step", "updates", "episode", "fresh", "made")


def capture(loop: Loop) -> tuple[dict[str, Any], Arrays]:
    """Everything but the agent and the replay rows."""
    if loop.ended or loop.selected:
        raise ValueError("hand the loop's news over before saving it, or they are lost")
    tally, state = loop.tally, {name: getattr(loop, name) for name in COUNTERS}
    state |= {"added": loop.replay.added, "replay_rng": loop.replay.rng.bit_generator.state}
    state |= {
        "faults": loop.faults.record(),
        "finished": tally.finished,
        "steps": tally.steps,
        "losses": tally.losses,
        "mishaps": tally.mishaps,
    }
    saved = {f"plan.{name}": array for name, array in arrays.named(loop.plan).items()}
    saved |= {f"advice.{name}": array for name, array in arrays.named(loop.advice).items()}
    saved |= _episode(loop) | {
        "obs": loop.obs,
        "highlights": loop.replay.highlights.episodes,
        "tally.use": tally.use,
        "tally.value": tally.value,
        "tally.selections": tally.selections,
        "tally.episodes": np.asarray(tally.episodes, np.float64).reshape(-1, 2),
    }
    if loop.extremes:
        saved["extremes"], state["grown"] = loop.extremes.capture(), loop.extremes.grown
    snapshot = None if loop.fresh else loop.arena.snapshot()
    if snapshot is not None:
        saved |= {f"arena.{name}": array for name, array in snapshot.items()}
    return state | {"exact": loop.fresh or snapshot is not None}, saved


def _episode(loop: Loop) -> Arrays:
    """The episode under way."""
    return {
        "rewards": np.asarray(loop.rewards, np.float64),
        "successes": np.asarray(loop.successes, np.float64),
        "sources": np.asarray(loop.sources, np.int64),
        "track": np.asarray(loop.track, np.float64).reshape(-1, 2),
    }


def restore(loop: Loop, state: dict[str, Any], saved: Arrays) -> None:
    """Put everything back; the agent and the replay rows are filled in by the caller."""
    for name in COUNTERS:
        setattr(loop, name, state[name])
    loop.faults = Faults.revive(state["faults"])
    loop.replay.added = state["added"]
    loop.replay.rng.bit_generator.state = state["replay_rng"]
    loop.plan = arrays.fill(loop.plan, _under(saved, "plan."), "plan")
    loop.advice = arrays.fill(loop.advice, _under(saved, "advice."), "advice")
    loop.obs = saved["obs"].copy()
    loop.replay.highlights.put(saved["highlights"].copy())
    if loop.extremes:
        loop.extremes.restore(saved["extremes"].copy(), state["grown"])
    loop.rewards = [float(x) for x in saved["rewards"]]
    loop.successes = [float(x) for x in saved["successes"]]
    loop.sources = [int(x) for x in saved["sources"]]
    loop.track = [(float(x), float(y)) for x, y in saved["track"]]
    loop.tally.use, loop.tally.value = saved["tally.use"].copy(), saved["tally.value"].copy()
    loop.tally.selections = saved["tally.selections"].copy()
    loop.tally.episodes = [(float(x), float(y)) for x, y in saved["tally.episodes"]]
    loop.tally.finished, loop.tally.steps = state["finished"], state["steps"]
    loop.tally.mishaps = state["mishaps"]
    loop.tally.losses = {k: (total, count) for k, (total, count) in state["losses"].items()}
    if not loop.fresh:
        _resume_episode(loop, _under(saved, "arena."), state["exact"])


def _resume_episode(loop: Loop, snapshot: Arrays, exact: bool) -> None:
    if exact:
        loop.arena.reset(0)  # some environments build what a snapshot fills in their first reset
        loop.arena.restore(snapshot)
    else:
        # Nobody knows how to continue this environment's episode: begin the next one instead.
        loop.forget_episode()


def _under(saved: Arrays, prefix: str) -> Arrays:
    found = {k.removeprefix(prefix): v for k, v in saved.items() if k.startswith(prefix)}
    if not found:
        raise CheckpointError(f"loop.safetensors lacks {prefix}*")
    return found


def replay_like(loop: Loop, count: int) -> Any:
    """A tree of `count` empty rows shaped like the buffer's."""
    blank = loop.replay.rows(loop.replay.added, loop.replay.added)
    return jax.tree.map(lambda x: np.empty((count, *x.shape[1:]), x.dtype), blank)
