"""The shape of the source: budgets, forbidden words, one-way imports, documented names."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import reprise
from reprise.methods import ABLATIONS, METHODS

ROOT = Path(__file__).parent.parent
SOURCE = Path(reprise.__file__).parent
MODULES = sorted(SOURCE.rglob("*.py"))
LINES, BODY, ARGUMENTS, NAMES = 300, 30, 5, 18

MANY_ARGUMENTS: dict[str, str] = {}
"""Functions with more positional arguments than the budget, each with its reason."""

Function = ast.FunctionDef | ast.AsyncFunctionDef


def name_of(path: Path) -> str:
    return str(path.relative_to(SOURCE))


def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def functions(path: Path) -> Iterator[tuple[str, Function]]:
    """Every function and method of a module with its qualified name."""
    yield from _named(tree_of(path), "")


def _named(owner: ast.AST, prefix: str) -> Iterator[tuple[str, Function]]:
    for node in ast.iter_child_nodes(owner):
        inner = prefix
        if isinstance(node, Function | ast.ClassDef):
            inner = f"{prefix}{node.name}."
        if isinstance(node, Function):
            yield f"{prefix}{node.name}", node
        yield from _named(node, inner)


def each_module(*paths: Path) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("path", paths or MODULES, ids=name_of)


def test_the_source_is_found() -> None:
    assert len(MODULES) > 30
    assert (ROOT / "pyproject.toml").exists()


# --- budgets ---


@each_module()
def test_a_module_has_at_most_300_lines(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= LINES


def length(function: Function) -> int:
    """Lines from `def` to the end, without the docstring."""
    whole = (function.end_lineno or 0) - function.lineno + 1
    first = function.body[0]
    if ast.get_docstring(function) is not None:
        whole -= (first.end_lineno or 0) - first.lineno + 1
    return whole


@each_module()
def test_a_function_has_at_most_30_lines(path: Path) -> None:
    long = {name: length(f) for name, f in functions(path) if length(f) > BODY}
    assert long == {}


def positional(function: Function) -> list[str]:
    given = [arg.arg for arg in (*function.args.posonlyargs, *function.args.args)]
    return given[1:] if given[:1] in (["self"], ["cls"]) else given


def crowded(path: Path) -> set[str]:
    return {
        f"{name_of(path)}:{name}" for name, f in functions(path) if len(positional(f)) > ARGUMENTS
    }


@each_module()
def test_a_function_has_at_most_5_positional_arguments(path: Path) -> None:
    assert crowded(path) - set(MANY_ARGUMENTS) == set()


def test_every_exception_from_the_argument_budget_is_still_needed() -> None:
    assert set(MANY_ARGUMENTS) <= {name for path in MODULES for name in crowded(path)}


def test_the_public_names_exist_and_are_at_most_18() -> None:
    assert len(set(reprise.__all__)) == len(reprise.__all__) <= NAMES
    assert [name for name in reprise.__all__ if not hasattr(reprise, name)] == []
    assert [name for name in reprise.__all__ if name.startswith("_")] == []


# --- what must not be there ---

UNSAFE_MODULES = {"pickle", "cPickle", "_pickle", "dill", "cloudpickle", "shelve", "marshal"}
UNSAFE_CALLS = {"eval", "exec", "compile", "__import__", "breakpoint"}
UNSAFE_METHODS = {
    ("yaml", "load"),
    ("yaml", "unsafe_load"),
    ("importlib", "import_module"),
    ("torch", "load"),
    ("joblib", "load"),
    ("os", "system"),
}


def unsafe(tree: ast.Module) -> list[str]:
    found: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [a.name for a in node.names if a.name.partition(".")[0] in UNSAFE_MODULES]
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            found += [module] if module.partition(".")[0] in UNSAFE_MODULES else []
            found += [a.name for a in node.names if (module, a.name) in UNSAFE_METHODS]
        elif isinstance(node, ast.Call):
            found += _unsafe_call(node)
    return found


def _unsafe_call(node: ast.Call) -> list[str]:
    allows = [k for k in node.keywords if k.arg == "allow_pickle"]
    if any(not (isinstance(k.value, ast.Constant) and k.value.value is False) for k in allows):
        return ["allow_pickle"]
    if isinstance(node.func, ast.Name) and node.func.id in UNSAFE_CALLS:
        return [node.func.id]
    if isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name):
        pair = (node.func.value.id, node.func.attr)
        return [".".join(pair)] if pair in UNSAFE_METHODS else []
    return []


# The doors that a user opens by hand: --trust-code for a prior's code (tests/test_references.py
# shows that it stays shut without), and --import for modules of one's own (tests/test_modules.py).
BY_HAND = {"priors/formats/code.py": "import_module", "cli/modules.py": "import_module"}


def allowed(path: Path) -> str:
    return BY_HAND.get(path.relative_to(SOURCE).as_posix(), "nothing")


@each_module()
def test_no_code_comes_from_data(path: Path) -> None:
    assert [name for name in unsafe(tree_of(path)) if not name.endswith(allowed(path))] == []


def test_the_doors_for_code_are_still_needed() -> None:
    assert all(unsafe(tree_of(SOURCE / name)) for name in BY_HAND)


@pytest.mark.parametrize(
    "text",
    [
        "import pickle",
        "from pickle import loads",
        "import a, dill.b",
        "eval('1')",
        "exec(x)",
        "yaml.load(f)",
        "importlib.import_module('a')",
        "from importlib import import_module",
        "__import__('a')",
        "np.load(f, allow_pickle=True)",
    ],
)
def test_the_search_for_unsafe_code_finds_it(text: str) -> None:
    assert unsafe(ast.parse(text))


@each_module()
def test_forbidden_words_are_not_in_the_text_either(path: Path) -> None:
    words = r"\b(pickle|eval\(|exec\(|yaml\.load\b|import_module|__import__)"
    assert [word for word in re.findall(words, path.read_text()) if word != allowed(path)] == []


@each_module()
def test_no_module_is_a_drawer_for_odds_and_ends(path: Path) -> None:
    names = {part.removesuffix(".py").strip("_") for part in path.relative_to(SOURCE).parts}
    drawers = {"util", "utils", "helper", "helpers", "common", "base", "misc", "manager"}
    assert not names & drawers


@each_module()
def test_every_module_and_public_name_says_what_it_is(path: Path) -> None:
    tree = tree_of(path)
    assert ast.get_docstring(tree)
    assert mute(tree) == []


def mute(tree: ast.Module) -> list[str]:
    """Public names without a docstring; a verb that a documented base declares needs no second."""
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    found: list[str] = []
    for owner in (tree, *(c for c in classes.values() if not c.name.startswith("_"))):
        inherited = _documented(owner, classes) if isinstance(owner, ast.ClassDef) else set()
        found += [
            node.name
            for node in owner.body
            if isinstance(node, Function | ast.ClassDef)
            and not node.name.startswith("_")
            and not ast.get_docstring(node)
            and node.name not in inherited
        ]
    return found


def _documented(owner: ast.ClassDef, classes: dict[str, ast.ClassDef]) -> set[str]:
    """What the bases of a class, as far as they are in the same module, say about its verbs."""
    bases = [classes[b.id] for b in owner.bases if isinstance(b, ast.Name) and b.id in classes]
    own = {
        n.name for b in bases for n in b.body if isinstance(n, Function) and ast.get_docstring(n)
    }
    return own.union(*(_documented(base, classes) for base in bases))


def test_the_search_for_mute_names_finds_them() -> None:
    text = (
        "class A:\n  def f(self):\n    'x'\nclass B(A):\n  'x'\n  def f(self): 1\n  def g(self): 1"
    )
    assert mute(ast.parse(text)) == ["A", "g"]


# --- one core for all methods ---

CORE = sorted(
    path
    for room in ("core", "training", "runs")
    for path in (SOURCE / room).glob("*.py")
    if path.name != "learner.py"
)
"""What runs every method: it knows the three kinds of choices and no value of them. The `Learner`
takes methods by name, as the command line does."""


def special_cases(tree: ast.Module) -> list[str]:
    """Where a module treats one method differently: by its name, its module or a class of its."""
    names = METHODS | ABLATIONS
    methods = [row.build(50, 1.0) for row in names.values()]
    kinds = {type(part).__name__ for m in methods for part in (m.critic, m.actor, m.planner)}
    found: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in names:
            found.append(node.value)
        elif isinstance(node, ast.ImportFrom | ast.Import):
            modules = [getattr(node, "module", None) or "", *(a.name for a in node.names)]
            found += [name for name in modules if "reprise.methods" in name]
        elif isinstance(node, ast.Call) and ast.unparse(node.func) in {"isinstance", "type"}:
            found += [n.id for n in ast.walk(node) if isinstance(n, ast.Name) and n.id in kinds]
    return found


@each_module(*CORE)
def test_the_core_treats_all_methods_alike(path: Path) -> None:
    assert special_cases(tree_of(path)) == []


@pytest.mark.parametrize(
    "text",
    [
        "if run.name == 'cup': pass",
        "match name:\n  case 'smec/random': pass",
        "from reprise.methods.qmp import QSwitch",
        "import reprise.methods",
        "isinstance(method.planner, LearnedController)",
        "isinstance(critic, SoftCritic | HybridCritic)",
    ],
)
def test_the_search_for_special_cases_finds_them(text: str) -> None:
    assert special_cases(ast.parse(text))


# --- imports ---

BLOCKER = """
import sys

class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {blocked}:
            raise ImportError(name + " is not installed")

sys.meta_path.insert(0, Blocker())
"""


def python(code: str) -> subprocess.CompletedProcess[str]:
    env = os.environ | {"PYTHONPATH": str(SOURCE.parent)}
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=env, timeout=120
    )


def test_reprise_and_its_command_line_work_without_the_report_extra() -> None:
    blocked = {"pandas", "matplotlib", "jinja2", "scipy", "plotly"}
    use = (
        "import reprise\nfrom reprise.cli.main import main\n"
        "assert main(['methods', 'list', '--json']) == 0"
    )
    done = python(BLOCKER.replace("{blocked}", repr(blocked)) + use)
    assert done.returncode == 0, done.stderr
    assert '"smec"' in done.stdout


def test_the_blocker_blocks() -> None:
    done = python(BLOCKER.replace("{blocked}", "{'numpy'}") + "import reprise")
    assert done.returncode != 0 and "numpy is not installed" in done.stderr


@pytest.mark.parametrize(
    ("given", "first", "threads"),
    [
        ({}, "reprise", "1 1"),
        ({"NPROC": "3"}, "reprise", "3 3"),
        ({"OPENBLAS_NUM_THREADS": "2"}, "reprise", "1 2"),
        ({}, "numpy, reprise", "1 None"),  # too late to say anything
    ],
)
def test_jax_and_numpy_have_as_many_threads_as_one_is_told(
    given: dict[str, str], first: str, threads: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("NPROC", "OPENBLAS_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    asked = "os.environ.get('NPROC'), os.environ.get('OPENBLAS_NUM_THREADS')"
    done = python(f"import os, {first}; print({asked})")
    assert done.stdout.split() == threads.split(), done.stderr


def test_without_the_report_extra_a_report_is_refused_in_one_line(tmp_path: Path) -> None:
    code = (
        "import importlib.util as u; real = u.find_spec\n"
        "u.find_spec = lambda n, *a: None if n == 'pandas' else real(n, *a)\n"
        "from reprise.pages.write import Wanted, write_report\n"
        "from reprise.boundary.errors import UserError\n"
        "from pathlib import Path\n"
        "try: write_report([Path('x')], Wanted(Path('y')), None)\n"
        "except UserError as error: print(error)\n"
    )
    done = python(code)
    assert done.returncode == 0, done.stderr
    assert "pip install 'reprise[report]'" in done.stdout and done.stdout.count("\n") == 1


def test_imports_flow_one_way() -> None:
    command = Path(sys.executable).parent / "lint-imports"
    assert command.exists(), "import-linter is one of the dev extras"
    env = os.environ | {"PYTHONPATH": str(SOURCE.parent)}
    done = subprocess.run(
        [str(command), "--no-cache"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        env=env,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"Contracts: [1-9]\d* kept, 0 broken", done.stdout), done.stdout


def test_every_module_is_in_a_layer_of_the_import_contract() -> None:
    text = (ROOT / "pyproject.toml").read_text()
    layers = re.search(r"layers = \[(.*?)\n\]", text, re.DOTALL)
    assert layers
    listed = set(re.findall(r"\w+", layers[1]))
    top = {path.relative_to(SOURCE).parts[0].removesuffix(".py") for path in MODULES}
    assert top - {"__init__"} == listed
