"""Which test modules a change concerns, the nearest first: what `make quick` runs.

    python tests/affected.py             paths of test modules, for pytest
    python tests/affected.py --changed   the changed Python files of src, for pyright

A test module is concerned if it was changed, if it imports what was changed or something that
imports it (`reprise` itself does not count: it imports everything), or if it names a changed file
that is not Python. A change is everything that upstream does not have.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).parents[1]
NEAR = 2
"""A test that imports a module that imports what was changed is near; one more step is not."""
ALWAYS = ("test_architecture",)


def affected(root: Path, changed: Iterable[str]) -> list[Path]:
    """The test modules of a tree that a change concerns, the nearest first."""
    files = {_name(root, path): path for path in _sources(root)}
    known = {name: imports(path) & files.keys() - {"reprise", name} for name, path in files.items()}
    given = list(changed)
    distance = {name: 0 for name, path in files.items() if str(path.relative_to(root)) in given}
    distance |= {name: 1 for name in _naming(files, given) if name not in distance}
    for step in range(1, NEAR + 1):
        near = {name for name, far in distance.items() if far < step}
        distance |= {n: step for n, needs in known.items() if n not in distance and needs & near}
    distance |= {name: NEAR for name in ALWAYS if name in files and name not in distance}
    tests = sorted((far, name) for name, far in distance.items() if name.startswith("test_"))
    return [files[name] for _, name in tests]


def _sources(root: Path) -> list[Path]:
    return [*sorted((root / "src").rglob("*.py")), *sorted((root / "tests").rglob("*.py"))]


def _name(root: Path, path: Path) -> str:
    """A module's name for those who import it."""
    if path.is_relative_to(root / "tests"):
        return path.stem
    parts = path.relative_to(root / "src").with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports(path: Path) -> set[str]:
    """What a module imports, and every name in it that may be a module itself."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found


def _naming(files: dict[str, Path], changed: Iterable[str]) -> set[str]:
    """The tests whose text names a changed file that no import can name."""
    names = {Path(file).name for file in changed if not file.endswith(".py")}
    tests = {name: path.read_text() for name, path in files.items() if name.startswith("test_")}
    return {test for test, text in tests.items() if any(name in text for name in names)}


def changes() -> list[str]:
    """Every file that differs from upstream, or is new."""
    base = _git("rev-parse", "--verify", "--quiet", "@{upstream}") or ["HEAD"]
    fork = _git("merge-base", "HEAD", base[0]) or base
    return _git("diff", "--name-only", fork[0]) + _git("ls-files", "-o", "--exclude-standard")


def _git(*words: str) -> list[str]:
    line = ["git", "-C", str(ROOT), *words]
    return subprocess.run(line, capture_output=True, text=True, check=False).stdout.splitlines()


def main() -> None:
    """Print paths."""
    files = changes()
    if "--changed" in sys.argv[1:]:
        sources = (file for file in files if file.startswith("src/") and file.endswith(".py"))
        print(*(file for file in sources if (ROOT / file).exists()))
    else:
        print(*(path.relative_to(ROOT) for path in affected(ROOT, files)))


if __name__ == "__main__":
    main()
