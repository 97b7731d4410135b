"""Packages that are installed for a test: their metadata in a folder on the path, nothing more."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
EXAMPLE = ROOT / "examples/plugin"


def install(site: Path, package: str, entry: str, **modules: str) -> None:
    """What pip would leave behind: metadata with one entry point, and modules."""
    folder = site / f"{package.replace('-', '_')}-0.1.0.dist-info"
    folder.mkdir(parents=True)
    (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 0.1.0\n")
    (folder / "entry_points.txt").write_text(f"[reprise.plugins]\n{entry}\n")
    for name, text in modules.items():
        (site / f"{name}.py").write_text(text)


def environment(*sites: Path) -> dict[str, str]:
    """The environment of a process that has these folders on its path."""
    path = [str(site) for site in sites] + [str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]
    return os.environ | {"PYTHONPATH": os.pathsep.join(path)}


def calls(lines: list[list[str]], folder: Path, *sites: Path) -> list[tuple[int, str, str]]:
    """Commands one after another in one process: code, output and errors of each."""
    done = subprocess.run(
        [sys.executable, str(Path(__file__)), json.dumps(lines)], cwd=folder, text=True,
        capture_output=True, env=environment(*sites), timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return [tuple(said) for said in json.loads(done.stdout.splitlines()[-1])]


def _run() -> None:
    import contextlib
    import io

    from reprise.cli.main import main

    said: list[tuple[int, str, str]] = []
    for line in json.loads(sys.argv[1]):
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = main(line)
        said.append((code, out.getvalue(), err.getvalue()))
    print(json.dumps(said))


if __name__ == "__main__":
    _run()
