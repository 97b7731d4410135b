"""Loads hostile files in a process of its own and writes down all that happens meanwhile.

python watched.py FOLDER < {"name": ["format", "path"], ...}  > {"name": {...}, ...}
"""

from __future__ import annotations

import json
import os
import pickle
import sys
import time
from pathlib import Path
from typing import Any

SUSPECT = (
    "os.", "subprocess.", "socket.", "shutil.", "tempfile.", "pickle.", "marshal.", "ctypes.",
    "urllib.", "http.", "ftplib.", "webbrowser.", "code.", "exec", "compile", "import",
    "function.__new__", "builtins.input", "cpython.run", "pty.", "mmap.",
)  # fmt: skip
HARMLESS = ("os.scandir", "os.listdir", "os.fwalk", "os.walk")
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
events: list[str] = []
armed = False


def hook(event: str, arguments: tuple[Any, ...]) -> None:
    """Note what a loader of data has no business doing."""
    if not armed:
        return
    if event == "open":
        path, mode, flags = arguments
        if flags & WRITING or (isinstance(mode, str) and set(mode) & set("wax+")):
            events.append(f"open {path!r} {mode!r}")
    elif event.startswith(SUSPECT) and event not in HARMLESS:
        events.append(f"{event} {arguments!r:.100}")


def forget_peak() -> None:
    """Begin anew to note the largest memory this process had."""
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")


def peak() -> float:
    """The largest memory since then, in MB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))


def watch(load: Any, path: Path) -> dict[str, Any]:
    """Load one file; whatever it raises is written down."""
    global armed
    events.clear()
    forget_peak()
    start, error, kind = time.process_time(), "", ""
    armed = True
    try:
        load(path)
    except BaseException as caught:
        error, kind = str(caught), type(caught).__name__
    armed = False
    return {
        "error": error,
        "kind": kind,
        "events": list(events),
        "seconds": time.process_time() - start,
        "megabytes": peak(),
    }


def main() -> None:
    """Every file once, then the controls: a payload that runs must be seen."""
    from reprise.priors import load
    from reprise.priors.formats import onnx, sb3

    fixtures = Path(__file__).parent / "fixtures"
    loaders = {"policy": load, "sb3": sb3.load, "onnx": onnx.load}
    sys.addaudithook(hook)
    # Once with sound files, so that every module a loader needs is imported before.
    sb3.load(fixtures / "sb3" / "ppo-relu-drift.zip")
    results: dict[str, Any] = {"before onnx": {"onnx": "onnx" in sys.modules}}
    onnx.load(fixtures / "onnx" / "sac-relu-pendulum.onnx")
    for name, (format, path) in json.load(sys.stdin).items():
        results[name] = watch(loaders[format], Path(path))
    bomb = (Path(sys.argv[1]) / "bomb").read_bytes()
    results["control: payload"] = watch(lambda _: pickle.loads(bomb), Path())
    results["control: write"] = watch(lambda _: Path("written").write_text(""), Path())
    results["control: import"] = watch(lambda _: __import__("a_module_that_nobody_has"), Path())
    json.dump(results, sys.stdout)


if __name__ == "__main__":
    main()
