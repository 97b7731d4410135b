"""Plugins: what an installed package adds is used like what is built in, and harms nothing else."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from plugged import EXAMPLE, calls, environment, install
from reprise.boundary.errors import UserError
from reprise.boundary.plugins import GROUP, PluginFault, Registry, call
from reprise.runs.recipe import _class

CORNER = str(EXAMPLE / "corner.gain")
QUICK = ["--schedule.warmup", "100", "--schedule.learning-starts", "50", "--schedule.batch", "16"]
TRAIN = ["train", "toy/north-east", "--method", "round-robin", "--priors", CORNER, "--steps", "200",
         "--out", "run", "--json", "--no-tensorboard", *QUICK]  # fmt: skip
COMMANDS = {
    "methods": ["methods", "list", "--json"],
    "tasks": ["tasks", "list", "--json"],
    "formats": ["priors", "formats", "--json"],
    "suites": ["suites", "list", "--json"],
    "table": ["suites", "list"],
    "check": ["priors", "check", CORNER, "--task", "toy/north-east", "--episodes", "2", "--json"],
    "train": TRAIN,
    "resume": ["resume", "run", "--steps", "300", "--json", "--no-tensorboard"],
    "evaluate": ["evaluate", "run", "--episodes", "2", "--json"],
    "report": ["report", "run", "--out", "page.html"],
    "corner": ["train", "toy/north-west"],
    "dry": ["suite", "toy", "--scale", "smoke", "--dry-run", "--json"],
}
Said = dict[str, tuple[int, str, str]]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the example is installed, by its own pyproject.toml."""
    project = tomllib.loads((EXAMPLE / "pyproject.toml").read_text())["project"]
    ((name, value),) = project["entry-points"][GROUP].items()
    site = tmp_path_factory.mktemp("site")
    install(site, project["name"], f"{name} = {value}")
    return site


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the commands are given."""
    return tmp_path_factory.mktemp("place")


@pytest.fixture(scope="module")
def said(site: Path, place: Path) -> Said:
    """What every command says where the example is installed."""
    return dict(zip(COMMANDS, calls([*COMMANDS.values()], place, site, EXAMPLE), strict=True))


def rows(said: tuple[int, str, str], key: str) -> dict[str, dict[str, object]]:
    code, out, _ = said
    assert code == 0
    return {row[key]: row for row in json.loads(out)}


def test_lists_have_what_is_added_and_say_from_where(said: Said) -> None:
    method = rows(said["methods"], "name")["round-robin"]
    assert method["planner"] == "RoundRobin" and method["package"] == "reprise-toy"
    task = rows(said["tasks"], "id")["toy/south-west"]
    assert (task["obs_dim"], task["action_dim"], task["horizon"]) == (2, 2, 50)
    assert "Linear controllers" in str(rows(said["formats"], "suffix")[".gain"]["what"])
    suite = rows(said["suites"], "name")["toy"]
    assert suite["title"] == "Turns against no reuse, in both corners"
    assert "reprise-toy" in said["table"][1] and "package" in said["table"][1]
    assert "package" not in rows(said["methods"], "name")["smec"]


def test_a_file_of_the_added_format_is_a_prior(said: Said) -> None:
    prior = rows(said["check"], "name")["corner"]
    assert prior["format"] == "gain" and prior["success_any"] == 1.0
    assert (prior["obs_dim"], prior["action_dim"]) == (2, 2) and len(str(prior["sha256"])) == 64


def test_an_added_method_learns_an_added_task_and_goes_on(said: Said, place: Path) -> None:
    for name, steps in (("train", 200), ("resume", 300)):
        code, out, err = said[name]
        assert code == 0, err
        assert json.loads(out)["steps"] == steps
    recipe = json.loads((place / "run/run.json").read_text())
    assert recipe["method"]["planner"]["kind"] == "RoundRobin"
    assert recipe["priors"][0]["format"] == "gain" and recipe["steps"] == 300


def test_its_run_is_evaluated_and_reported(said: Said, place: Path) -> None:
    code, out, err = said["evaluate"]
    assert code == 0, err
    assert 0.0 <= json.loads(out)["success_any"] <= 1.0
    assert said["report"][0] == 0, said["report"][2]
    assert "round-robin" in (place / "page.html").read_text()


def test_a_name_that_a_family_does_not_have_is_one_line(said: Said) -> None:
    code, _, err = said["corner"]
    assert code == 2 and err.count("\n") == 1
    assert "unknown task 'toy/north-west'" in err and "toy/north-east" in err


def test_an_added_suite_is_made(said: Said, site: Path, place: Path) -> None:
    code, out, err = said["dry"]
    assert code == 0, err
    assert {row["method"] for row in json.loads(out)["runs"]} == {"round-robin", "scratch"}
    line = [sys.executable, "-m", "reprise", "suite", "toy", "--scale", "smoke", "--jobs", "1",
            "--methods", "round-robin", "--json"]  # fmt: skip
    env = environment(site, EXAMPLE)
    done = subprocess.run(line, cwd=place, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1])["failed"] == {}


# --- plugins that misbehave ---

RIVAL = """
from reprise.core.method import Method
from reprise.methods import scratch

def register(registry):
    registry.method("smec", lambda h, c: scratch())
    registry.method("rival", lambda h, c: scratch())
    registry.method("empty", lambda h, c: None)
    registry.tasks("pointmaze", lambda name: None)
    registry.format(".zip", lambda data: None)
    registry.format(".cut", lambda data: 1 / 0)
    registry.suite("point", lambda scale, choice: [])
"""
BROKEN = "import a_module_that_nobody_has"
LATER = "def register(registry): registry.method('rival', None)"


@pytest.fixture(scope="module")
def trouble(tmp_path_factory: pytest.TempPathFactory) -> Said:
    """The same machine with a broken plugin and two that want names of others."""
    site, place = tmp_path_factory.mktemp("bad"), tmp_path_factory.mktemp("trouble")
    install(site, "a-rival", "rival = rival_plugin:register", rival_plugin=RIVAL)
    install(site, "b-broken", "broken = broken_plugin:register", broken_plugin=BROKEN)
    install(site, "c-later", "later = later_plugin:register", later_plugin=LATER)
    (place / "policy.cut").write_text("1")
    commands = {
        "ours": ["train", "pointmaze/u", "--help-me"],
        "methods": ["methods", "list", "--json"],
        "lists": ["priors", "formats", "--json"],
        "suites": ["suites", "list", "--json"],
        "empty": ["train", "pointmaze/u", "--method", "empty"],
        "cut": ["priors", "check", "policy.cut", "--task", "pointmaze/u"],
        "task": ["train", "toy/north-east"],
    }
    return dict(zip(commands, calls([*commands.values()], place, site), strict=True))


def test_a_plugin_is_only_loaded_when_it_is_asked_for(trouble: Said) -> None:
    assert "broken" not in trouble["ours"][2]


def test_a_broken_plugin_is_one_line_that_names_its_package(trouble: Said) -> None:
    lines = [line for line in trouble["methods"][2].splitlines() if "b-broken" in line]
    (line,) = lines
    assert "a_module_that_nobody_has" in line and "left out" in line
    assert "smec" in rows(trouble["methods"], "name")


def test_a_name_belongs_to_whoever_had_it_first(trouble: Said) -> None:
    methods = rows(trouble["methods"], "name")
    assert methods["smec"]["planner"] == "ValueGuided" and "package" not in methods["smec"]
    assert methods["rival"]["package"] == "a-rival"
    said = "".join(err for _, _, err in trouble.values())
    for what in ("method 'smec'", "prior format '.zip'", "suite 'point'", "task family"):
        (line,) = (x for x in said.splitlines() if what in x)
        assert "'a-rival' is left out: reprise has one of that name" in line
    assert "method 'rival' of package 'c-later' is left out: a-rival has one" in said


def test_a_function_that_fails_is_one_line_that_names_its_package(trouble: Said) -> None:
    assert "empty" not in rows(trouble["methods"], "name")
    code, _, err = trouble["empty"]
    assert code == 2 and "'empty' of package 'a-rival' returned NoneType, not Method" in err
    code, _, err = trouble["cut"]
    assert code == 2 and err.splitlines()[-1].startswith("reprise: policy.cut cannot be read")
    assert "package 'a-rival' failed: ZeroDivisionError" in err


def test_a_task_of_a_package_that_is_not_installed_is_unknown(trouble: Said) -> None:
    code, _, err = trouble["task"]
    assert code == 2 and err.splitlines()[-1].startswith("reprise: unknown task 'toy/north-east'")


@pytest.mark.parametrize(
    ("kind", "name"),
    [("method", "Two Words"), ("tasks", "a/b"), ("format", "gain"), ("suite", "")],
)
def test_names_that_no_folder_or_command_could_have_are_refused(kind: str, name: str) -> None:
    with pytest.raises(PluginFault, match="is not a name"):
        getattr(Registry("some-package"), kind)(name, lambda *given: None)


def test_a_user_error_of_a_plugin_stays_as_it_is() -> None:
    def refuse() -> None:
        raise UserError("the plane is closed")

    with pytest.raises(UserError, match=r"^the plane is closed$"):
        call("some-package", "task 'x'", refuse, object)


def test_two_classes_of_one_name_are_never_taken_for_each_other() -> None:
    class Root: ...

    twins = [type("Twin", (Root,), {}) for _ in range(2)]
    with pytest.raises(UserError, match="rename one of them"):
        _class(Root, "Twin", "recipe.planner")
    assert len(twins) == 2
