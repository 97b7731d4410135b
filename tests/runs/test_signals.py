"""Workers of a pool end with the process that started them."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest

STARTER = """
import multiprocessing, os, sys, time
from concurrent.futures import ProcessPoolExecutor
from reprise.runs.signals import end_with_parent

if __name__ == "__main__":
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn"), end_with_parent) as pool:
        print(pool.submit(os.getpid).result(), flush=True)
        pool.submit(time.sleep, 60)
        time.sleep(60)
"""


def alive(process: int) -> bool:
    try:
        with open(f"/proc/{process}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a child of its parent's end")
def test_a_worker_ends_when_its_parent_is_killed(tmp_path: object) -> None:
    script = f"{tmp_path}/starter.py"
    with open(script, "w") as file:
        file.write(STARTER)
    with subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        worker = int(parent.stdout.readline())
        assert alive(worker) and worker != os.getpid()
        parent.kill()
    for _ in range(100):
        if not alive(worker):
            return
        time.sleep(0.1)
    os.kill(worker, 9)
    pytest.fail("the worker went on alone")
