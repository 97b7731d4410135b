"""On PYTHONPATH, this makes every checkpoint take a while, so that a test can act between two.

A small run is over in a fraction of a second: whoever waits for its second row and then sends a
signal may come too late. Python tells an audit hook of every rename, the one that makes a
checkpoint visible among them, and goes on when the hook returns; nothing in a run knows of it.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import PurePath
from typing import Any

PACE = float(os.environ["CHECKPOINT_SECONDS"])


def linger(event: str, args: tuple[Any, ...]) -> None:
    """Before a checkpoint becomes visible; the rows it vouches for are on disk."""
    if event == "os.rename" and PurePath(os.fsdecode(args[1])).name.startswith("step-"):
        time.sleep(PACE)


sys.addaudithook(linger)
