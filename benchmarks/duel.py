"""Updates of two or more checkouts in turns: is this commit faster than that one?

git worktree add ../before HEAD~1
python benchmarks/duel.py ../before/src src --task metaworld/push-wall --name scratch
python benchmarks/duel.py ../before/src src --task pointmaze/two --name smec-k4

Each checkout learns in a process of its own, one turn at a time. Ratios to the first are medians
over rounds, of time and of processor time; the latter is steadier on a busy machine.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

from reprise.lab.bench.timing import Speed

UPDATES = 60
"""Per turn."""


def learn(task: str, name: str) -> None:
    """One side: a turn for each line it reads; answers seconds and processor seconds."""
    import reprise
    from reprise.lab.bench.updates import Workload, learners

    count = int(name.split("-")[1][1:]) if "-k" in name else 0
    counts = (count,) if count else ()
    turn = learners(Workload(reprise.task(task), "small", UPDATES), counts, 1)[name]
    turn()  # compiles
    print("ready", flush=True)
    for _ in sys.stdin:
        began, worked = time.perf_counter(), time.process_time()
        turn()
        print(time.perf_counter() - began, time.process_time() - worked, flush=True)


class Side:
    """A checkout in its process."""

    def __init__(self, source: Path, task: str, name: str):
        command = [sys.executable, __file__, "--learn", "--task", task, "--name", name]
        env = os.environ | {"PYTHONPATH": str(source.resolve()), "NPROC": "1"}
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, env=env, stdin=pipe, stdout=pipe, text=True)
        if self.answer() != "ready":
            raise SystemExit(f"{source}: it could not begin")

    def answer(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def turn(self) -> tuple[float, ...]:
        assert self.process.stdin is not None
        self.process.stdin.write("go\n")
        self.process.stdin.flush()
        return tuple(float(number) for number in self.answer().split())


def duel(sources: list[Path], task: str, name: str, rounds: int) -> None:
    sides = [Side(source, task, name) for source in sources]
    played = [[side.turn() for side in sides] for _ in range(rounds)]
    for side in sides:
        side.process.kill()
    print("\n".join(verdicts([str(source) for source in sources], played)))


def verdicts(names: list[str], played: list[list[tuple[float, ...]]]) -> list[str]:
    """A line for each side from its (seconds, processor seconds) in every round."""

    def speeds(kind: int) -> list[Speed]:
        sides = zip(*played, strict=True)
        return [Speed(tuple(turn[kind] / UPDATES for turn in side)) for side in sides]

    clock, work = speeds(0), speeds(1)
    return [
        f"{name}: {1e3 / wall.per_second:.2f} ms, times the first {wall.times(clock[0]):.3f}, "
        f"processor {busy.times(work[0]):.3f}"
        for name, wall, busy in zip(names, clock, work, strict=True)
    ]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("sources", nargs="*", type=Path, help="folders that hold the package")
    parser.add_argument("--task", default="metaworld/push-wall")
    parser.add_argument("--name", default="scratch", help="as in `reprise bench`: smec-k4-sampled")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--learn", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.learn:
        learn(options.task, options.name)
    else:
        duel(options.sources, options.task, options.name, options.rounds)


if __name__ == "__main__":
    main()
