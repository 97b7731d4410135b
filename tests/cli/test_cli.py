"""The command line: answers, files, and errors of one line."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import math
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from rich.console import Console

from reprise.cli import train as running
from reprise.cli.commands import COMMANDS
from reprise.cli.main import main
from reprise.lab import theory
from reprise.methods import ABLATIONS, METHODS
from reprise.priors import load, save
from reprise.runs import terminal
from reprise.runs.folder import claimed
from toys import policy

PENDULUM = "gym/Pendulum-v1"
SMALL = [
    "--critic.hidden", "16", "16", "--actor.hidden", "16", "16", "--schedule.batch", "16",
    "--schedule.warmup", "100", "--schedule.learning-starts", "100", "--schedule.log-every", "100",
    "--schedule.evaluate-every", "0", "--schedule.evaluation-episodes", "2",
]  # fmt: skip
ANSWER = {"run", "steps", "success_any", "success_last", "return_mean", "seconds"}


class Said(NamedTuple):
    """What a command answered."""

    code: Any
    out: str
    err: str


def say(*argv: str) -> Said:
    """Run a command in this process."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main([str(arg) for arg in argv])
    return Said(code, out.getvalue(), err.getvalue())


def refused(*argv: str) -> str:
    """The one line with which a command is refused."""
    said = say(*argv)
    assert said.code == 2, said
    assert said.out == ""
    assert said.err.startswith("reprise: ") and said.err.endswith("\n")
    assert len(said.err.splitlines()) == 1, said.err
    assert "Traceback" not in said.err
    return said.err


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is written beside the tests."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")


class Enough(Exception):
    """Raised where a run would begin."""


@pytest.fixture
def recipes(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, Path]]:
    """Recipes and folders of runs that `train` would have begun; none is."""
    noted: list[tuple[Any, Path]] = []

    def note(run: Any, task: Any, folder: Path, **options: Any) -> None:
        noted.append((run, folder))
        raise Enough

    monkeypatch.setattr(running, "execute", note)
    return noted


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Said]:
    """A complete run without priors and without TensorBoard."""
    folder = tmp_path_factory.mktemp("runs") / "scratch"
    command = ["train", PENDULUM, "--method", "scratch", "--steps", "300", "--no-tensorboard"]
    return folder, say(*command, *SMALL, "--json", "--out", str(folder))


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two old policies of Pendulum's sizes."""
    folder = tmp_path_factory.mktemp("library")
    for seed, name in enumerate(("hold", "swing")):
        save(folder / name, policy(name, seed, obs=3, action=1))
    return folder


@pytest.fixture(scope="module")
def reused(tmp_path_factory: pytest.TempPathFactory, library: Path) -> tuple[Path, Said]:
    """A complete run with two priors and everything on by default, shown to a person."""
    folder = tmp_path_factory.mktemp("runs") / "smec"
    command = ["train", PENDULUM, "--priors", str(library), "--steps", "300"]
    return folder, say(*command, *SMALL, "--out", str(folder))


def header(path: Path) -> list[str]:
    with path.open(newline="") as file:
        return next(csv.reader(file))


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


# --- names that do not exist ---


@pytest.mark.parametrize(
    ("argv", "named", "nearest"),
    [
        (["train", "pointmaze/mediun"], "task 'pointmaze/mediun'", "pointmaze/medium"),
        (["train", "gym/Pendulm-v1"], "'Pendulm-v1'", "Pendulum-v1"),
        (["train", PENDULUM, "--method", "smek"], "method 'smek'", "smec"),
        (["train", PENDULUM, "--method=scratchy"], "method 'scratchy'", "scratch"),
        (["train", PENDULUM, "--stepz", "3"], "option '--stepz'", "--steps"),
        (["train", PENDULUM, "--critic.hiddn", "3"], "'--critic.hiddn'", "--critic.hidden"),
        (["train", PENDULUM, "--preset", "big"], "preset 'big'", "small"),
        (["train", PENDULUM, "--preset=big"], "preset 'big'", "paper"),
        (["train", PENDULUM, "--priors", "zoo:pointmase"], "'zoo:pointmase'", "zoo:pointmaze"),
        (["trayn"], "command 'trayn'", "train"),
        (["tasks", "lst"], "command 'tasks lst'", "tasks list"),
        (["tasks"], "command 'tasks'", "tasks list"),
        (["priors", "build", "pointmase"], "'pointmase'", "pointmaze"),
        (["theory", "--mdp", "3"], "--mdp", "--mdps"),
        (["tasks", "list", "--jsn"], "'--jsn'", "--json"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_an_unknown_name_is_one_line_with_the_nearest(
    argv: list[str], named: str, nearest: str
) -> None:
    line = refused(*argv)
    assert named in line and nearest in line
    assert "unknown" in line


@pytest.mark.parametrize(
    ("argv", "option"),
    [
        (["train", PENDULUM, "--steps", "many"], "--steps"),
        (["train", PENDULUM, "--steps", "1.5"], "--steps"),
        (["train", PENDULUM, "--seed", "x"], "--seed"),
        (["train", PENDULUM, "--critic.hidden", "wide"], "--critic.hidden"),
        (["train", PENDULUM, "--learning-rate", "fast"], "--learning-rate"),
        (["train", PENDULUM, "--schedule.batch", "1e-3"], "--schedule.batch"),
        (["train", PENDULUM, "--steps"], "--steps"),
        (["theory", "--mdps", "x"], "--mdps"),
        (["evaluate", "somewhere", "--episodes", "x"], "--episodes"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_a_value_of_the_wrong_type_is_one_line_with_the_option(
    argv: list[str], option: str
) -> None:
    line = refused(*argv)
    assert option in line
    assert "--help`" in line, "where to read on"
    value = argv[-1]
    assert value in line


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--steps", "0"),
        ("--steps", "-5"),
        ("--seed", "-1"),
        ("--schedule.batch", "0"),
        ("--schedule.capacity", "0"),
        ("--schedule.log-every", "0"),
        ("--schedule.checkpoint-every", "0"),
        ("--schedule.evaluation-episodes", "0"),
        ("--schedule.evaluate-every", "-3"),
        ("--schedule.warmup", "-1"),
        ("--schedule.learning-starts", "-1"),
        ("--critic.hidden", "0"),
        ("--critic.ensemble", "0"),
        ("--critic.discount", "1.5"),
        ("--actor-delay", "0"),
        ("--learning-rate", "nan"),
    ],
)
def test_an_impossible_number_is_one_line_with_the_option_and_the_value(
    tmp_path: Path, option: str, value: str
) -> None:
    words = [*SMALL, "--steps", "120", "--no-tensorboard", "--out", str(tmp_path / "run")]
    line = refused("train", PENDULUM, "--method", "scratch", *words, option, value)
    assert option.removeprefix("--").split(".")[-1].replace("-", "_") in line.replace("-", "_")
    assert value in line


@pytest.mark.parametrize("argv", [["theory", "--mdps", "0"], ["theory", "--mdps", "-1"]])
def test_a_number_of_mdps_is_positive(argv: list[str]) -> None:
    assert "--mdps" in refused(*argv)


@pytest.mark.parametrize("command", ["train", "resume", "evaluate", "report", "priors build"])
def test_a_missing_argument_is_one_line(command: str) -> None:
    assert f"reprise {command}" in refused(*command.split())


def test_a_task_is_required_whatever_else_is_given(recipes: list[tuple[Any, Path]]) -> None:
    line = refused("train", "--steps", "300")
    assert "Task id" in line or "TASK" in line
    assert recipes == []


def test_an_environment_with_discrete_actions_is_one_line(tmp_path: Path) -> None:
    line = refused("train", "gym/CartPole-v1", "--method", "scratch", "--out", str(tmp_path / "r"))
    assert "gym/CartPole-v1" in line and "Discrete" in line


@pytest.mark.parametrize("command", ["resume", "evaluate", "report"])
def test_a_folder_that_is_no_run_is_one_line(command: str, tmp_path: Path) -> None:
    assert str(tmp_path) in refused(command, str(tmp_path))
    assert "nowhere" in refused(command, "nowhere")


def test_priors_of_other_sizes_are_one_line_with_both_sizes(tmp_path: Path) -> None:
    save(tmp_path / "old", policy("old", 0, obs=4, action=2))
    argv = ["train", PENDULUM, "--priors", str(tmp_path / "old"), "--steps", "300", *SMALL]
    line = refused(*argv, "--out", str(tmp_path / "run"))
    for fact in ("'old'", str(tmp_path / "old"), "4 observations", "2 actions", "3 and 1"):
        assert fact in line


def test_a_damaged_prior_is_one_line_with_its_file(tmp_path: Path) -> None:
    save(tmp_path / "old", policy("old", 0, obs=3, action=1))
    data = (tmp_path / "old" / "policy.safetensors").read_bytes()
    (tmp_path / "old" / "policy.safetensors").write_bytes(data[:-1])
    argv = ["train", PENDULUM, "--priors", str(tmp_path / "old"), "--out", str(tmp_path / "run")]
    assert str(tmp_path / "old" / "policy.safetensors") in refused(*argv)
    assert not (tmp_path / "run").exists()


# --- options in any order ---


@pytest.mark.parametrize(
    "words",
    [
        "pointmaze/u --seed 3 --out runs/x --json",
        "pointmaze/u --json --out runs/x --seed 3",
        "pointmaze/u --out=runs/x --seed=3 --json",
    ],
)
def test_the_order_of_options_does_not_change_the_recipe(
    words: str, recipes: list[tuple[Any, Path]]
) -> None:
    with pytest.raises(Enough):
        say("train", *words.split())
    run, folder = recipes[0]
    assert (run.task, run.seed, folder) == ("pointmaze/u", 3, Path("runs/x"))
    assert run.method.planner.commit == run.method.critic.horizon == 20, "H / 10 of this task"


@pytest.mark.parametrize("words", ["--seed 3 pointmaze/u", "--out=runs/x pointmaze/u", "--json"])
def test_a_task_that_does_not_come_first_is_one_line(words: str) -> None:
    assert "the task comes first" in refused("train", *words.split())


# --- lists and theory ---


def test_tasks_list_is_what_the_contract_says() -> None:
    said = say("tasks", "list", "--json")
    found = json.loads(said.out)
    assert said.code == 0 and len(found) >= 4
    for row in found:
        assert set(row) == {"id", "obs_dim", "action_dim", "horizon", "sets"}
        if row["id"].startswith("pointmaze/"):
            assert (row["obs_dim"], row["action_dim"]) == (4, 2)
    medium = next(row for row in found if row["id"] == "pointmaze/medium")
    assert medium["horizon"] == 300 and medium["sets"] == ["pointmaze"]
    ant = next(row for row in found if row["id"] == "antmaze/u")
    assert (ant["obs_dim"], ant["action_dim"], ant["horizon"]) == (29, 8, 700)


def test_methods_list_is_what_the_contract_says() -> None:
    said = say("methods", "list", "--json")
    found = {row["name"]: row for row in json.loads(said.out)}
    assert said.code == 0
    assert list(found) == [*METHODS, *ABLATIONS]
    for row in found.values():
        assert set(row) == {"name", "critic", "actor", "planner", "paper"}
        assert all(isinstance(value, str) and value for value in row.values())
    assert found["smec"]["planner"] != found["scratch"]["planner"]


def test_priors_list_shows_the_shipped_policies_with_their_success() -> None:
    said = say("priors", "list", "--json")
    found = json.loads(said.out)
    assert said.code == 0
    assert {row["name"] for row in found} >= {"nw", "ne", "sw", "se"}
    for row in found:
        assert set(row) >= {"ref", "name", "obs_dim", "action_dim", "task", "success"}
        least = 0.2 if row["name"].endswith("-weak") else 0.9 if row["obs_dim"] == 29 else 0.95
        assert row["success"] and all(share >= least for share in row["success"].values())


@pytest.mark.parametrize("command", ["tasks list", "methods list", "priors list"])
def test_a_list_for_people_holds_the_same_names(command: str) -> None:
    machine, people = say(*command.split(), "--json"), say(*command.split())
    assert people.code == 0
    for row in json.loads(machine.out):
        assert row.get("id", row.get("name")) in people.out


def test_theory_is_what_the_contract_says() -> None:
    said = say("theory", "--mdps", "200", "--json")
    found = json.loads(said.out)
    assert said.code == 0
    assert set(found) == {"ok", "checks", "seconds"}
    assert found["ok"] is True and found["seconds"] > 0
    for check in found["checks"]:
        assert set(check) >= {"name", "mdps", "violations", "expected", "min_margin"}
        assert check["expected"] in ("hold", "fail")
    assert {check["expected"] for check in found["checks"]} == {"hold", "fail"}


# --- help ---


@pytest.mark.parametrize("command", COMMANDS)
def test_help_names_every_option_with_its_meaning_and_default(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as done:
        main([*command.split(), "--help"])
    assert done.value.code == 0
    text = " ".join(re.sub(r"[╭╮╰╯│─]", " ", capsys.readouterr().out).split())
    assert f"usage: reprise {command}" in text
    assert (COMMANDS[command].options.__doc__ or "?").partition("\n")[0] in text
    body = text.partition("show this help message and exit")[2]
    options = re.split(r" (?=--[a-z])", body)
    for option in (o for o in options if o.startswith("--")):
        flag, _, rest = option.partition(" ")
        if flag.endswith(","):  # --json, --no-json ...
            continue
        assert "(default:" in rest or "(required)" in rest, option
        assert len(re.sub(r"\(default.*", "", rest).split()) >= 2, f"{flag} is not explained"


def test_help_of_train_names_units_and_this_tasks_numbers(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit):
        main(["train", "pointmaze/medium", "--method", "smec", "--help"])
    text = " ".join(re.sub(r"[│]", " ", capsys.readouterr().out).split())
    assert "Environment steps. (default: 60000)" in text
    assert "in environment steps" in text
    assert "h, the steps for which the chosen policy keeps control. (default: 30)" in text


@pytest.mark.parametrize("argv", [[], ["--help"], ["-h"]])
def test_the_overview_names_every_command(argv: list[str]) -> None:
    said = say(*argv)
    assert said.code == 0
    assert all(f"reprise {name}" in said.out for name in COMMANDS)


@pytest.mark.parametrize("flag", ["-h", "--help"])
@pytest.mark.parametrize("group", ["priors", "methods", "tasks"])
def test_help_for_the_first_word_of_several_commands_names_them_and_no_others(
    group: str, flag: str
) -> None:
    said = say(group, flag)
    assert said.code == 0
    named = {name for name in COMMANDS if f"reprise {name}" in said.out}
    assert named == {name for name in COMMANDS if name.startswith(f"{group} ")} != set()


def test_the_version_is_printed() -> None:
    assert re.fullmatch(r"reprise \d+\.\d+\.\d+\n", say("--version").out)


# --- train ---


def test_training_answers_with_one_json_object(scratch: tuple[Path, Said]) -> None:
    folder, said = scratch
    assert said.code == 0, said.err
    answer = json.loads(said.out)
    assert set(answer) == ANSWER
    assert answer["run"] == str(folder) and answer["steps"] == 300
    assert answer["success_any"] is None, "Pendulum has no notion of success"
    assert -2_000 < answer["return_mean"] < 0 and answer["seconds"] > 0
    assert "Traceback" not in said.err


def test_a_run_folder_holds_what_the_contract_says(scratch: tuple[Path, Said]) -> None:
    folder, _ = scratch
    visible = {path.name for path in folder.iterdir() if not path.name.startswith(".")}
    assert visible == {
        "run.json", "manifest.json", "metrics.csv", "eval.csv", "switches.csv", "tracks.csv",
        "checkpoints", "policy", "report.html",
    }  # fmt: skip
    assert {path.name for path in (folder / "policy").iterdir()} == {
        "policy.safetensors",
        "policy.json",
    }
    assert not (folder / ".owner").exists(), "nobody is using it any more"
    assert not list(folder.rglob("*.tmp"))


def test_the_recipe_holds_everything_that_was_asked_for(scratch: tuple[Path, Said]) -> None:
    record = json.loads((scratch[0] / "run.json").read_text())
    asked = {"name": "scratch", "task": PENDULUM, "seed": 0, "steps": 300, "preset": "small"}
    assert {name: record[name] for name in asked} == asked
    assert record["schema"] == 1 and record["priors"] == []
    assert record["method"]["critic"]["hidden"] == record["method"]["actor"]["hidden"] == [16, 16]
    assert record["schedule"]["warmup"] == record["schedule"]["log_every"] == 100


def test_the_recipe_holds_the_priors_with_their_hashes(
    reused: tuple[Path, Said], library: Path
) -> None:
    record = json.loads((reused[0] / "run.json").read_text())
    assert [prior["name"] for prior in record["priors"]] == ["hold", "swing"]
    for prior in record["priors"]:
        assert prior["sha256"] == load(library / prior["name"]).card.sha256


def test_the_manifest_has_versions_and_says_complete(scratch: tuple[Path, Said]) -> None:
    record = json.loads((scratch[0] / "manifest.json").read_text())
    assert record["state"] == "complete"
    assert record["nproc"] == "1" and record["platform"]
    assert record["started"] <= record["ended"]
    packages = {"reprise", "python", "jax", "numpy", "gymnasium", "mujoco", "safetensors"}
    assert packages <= set(record["versions"])
    assert record["versions"]["python"] == sys.version.split()[0]


METRICS = [
    "step", "episodes", "episode_return", "success", "critic_loss", "actor_loss", "alpha",
    "entropy", "steps_per_second",
]  # fmt: skip
EVAL = [
    "step", "episodes", "success_any", "success_last", "first_success_step", "return_mean",
    "return_std",
]  # fmt: skip
DRAWN = ["sampled_success_any", "sampled_success_last", "sampled_return_mean"]


def test_the_csv_headers_are_the_contracts(reused: tuple[Path, Said]) -> None:
    folder, said = reused
    assert said.code == 0, said.err
    names = ["task", "hold", "swing"]
    use, value = [f"use_{n}" for n in names], [f"value_{n}" for n in names]
    score, bonus = [f"score_{n}" for n in names], [f"bonus_{n}" for n in names]
    assert header(folder / "metrics.csv") == [*METRICS, *use, *value]
    assert header(folder / "eval.csv") == [*EVAL, "return_discounted", "value_start", *DRAWN]
    assert header(folder / "switches.csv") == ["step", "episode", "t", "from", "to", *score, *bonus]
    assert header(folder / "tracks.csv") == [
        "step", "episode", "t", "policy", "x", "y", "success",
    ]  # fmt: skip


def test_the_tables_have_one_row_per_event(reused: tuple[Path, Said]) -> None:
    folder, _ = reused
    metrics = rows(folder / "metrics.csv")
    assert [int(row["step"]) for row in metrics] == [100, 200, 300]
    for row in metrics:
        shares = [float(row[f"use_{name}"]) for name in ("task", "hold", "swing")]
        expected = 0.0 if row["step"] == "100" else 1.0  # the first 100 steps are random
        assert math.isclose(sum(shares), expected, abs_tol=1e-5)
    switches = rows(folder / "switches.csv")
    steps = [int(row["step"]) for row in switches]
    assert steps == sorted(set(steps)) and steps[0] == 101
    assert all(row["to"] in ("task", "hold", "swing") for row in switches)
    assert len(rows(folder / "eval.csv")) == 1
    assert rows(folder / "tracks.csv") == [], "a pendulum has no position"


def test_training_for_people_says_what_came_of_it_and_where_it_is(
    reused: tuple[Path, Said],
) -> None:
    folder, said = reused
    assert re.search(r"300 steps in \d+ s: success n/a, return -\d+", said.out)
    assert str(folder / "report.html") in said.out and str(folder / "policy") in said.out


def test_rewards_below_the_declared_bound_are_warned_about_once(
    reused: tuple[Path, Said], scratch: tuple[Path, Said]
) -> None:
    assert reused[1].err.count("--reward-lower-bound") == 1
    assert "--reward-lower-bound" not in scratch[1].err, "alone, nobody is compared"


def test_tensorboard_is_on_unless_it_is_turned_off(
    reused: tuple[Path, Said], scratch: tuple[Path, Said]
) -> None:
    events = list((reused[0] / "tensorboard").glob("events.out.tfevents.*"))
    assert len(events) == 1 and events[0].stat().st_size > 200
    assert not (scratch[0] / "tensorboard").exists()


def test_the_learned_policy_is_a_prior_for_the_next_task(scratch: tuple[Path, Said]) -> None:
    card = load(scratch[0] / "policy").card
    assert (card.obs_dim, card.action_dim, card.hidden) == (3, 1, (16, 16))
    assert card.task == PENDULUM and "scratch" in card.origin


def test_the_default_folder_is_named_by_the_recipe(
    recipes: list[tuple[Any, Path]],
) -> None:
    for seed in ("0", "0", "1"):
        with pytest.raises(Enough):
            say("train", "pointmaze/u", "--method", "smec/no-ucb", "--seed", seed)
    found = [folder for _, folder in recipes]
    assert found[0] == found[1] != found[2]
    assert re.fullmatch(r"runs/pointmaze-u-smec-no-ucb-s0-[0-9a-f]{12}", str(found[0]))


# --- folders that cannot be used ---


def again(folder: Path, *changes: str) -> list[str]:
    command = ["train", PENDULUM, "--method", "scratch", "--steps", "300", "--no-tensorboard"]
    return [*command, *SMALL, "--out", str(folder), *changes]


def contents(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.name.startswith(".")
    }


def test_a_complete_run_is_not_trained_again(scratch: tuple[Path, Said]) -> None:
    before = contents(scratch[0])
    line = refused(*again(scratch[0]))
    assert str(scratch[0]) in line and "complete" in line
    assert "complete" in refused("resume", str(scratch[0]))
    assert contents(scratch[0]) == before


def test_a_folder_of_another_recipe_is_not_touched(
    scratch: tuple[Path, Said], tmp_path: Path
) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "run.json").write_bytes((scratch[0] / "run.json").read_bytes())
    before = contents(folder)
    line = refused(*again(folder, "--seed", "1"))
    assert str(folder) in line and "another recipe" in line and "--out" in line
    assert contents(folder) == before


@pytest.fixture
def holder(tmp_path: Path) -> Iterator[tuple[Path, int]]:
    """A folder that another process is using, and that process's id."""
    code = (
        "import sys; from pathlib import Path; from reprise.runs.folder import claimed\n"
        "with claimed(Path(sys.argv[1])):\n  print('held', flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "run")]
    pipes: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, **pipes) as process:
        assert process.stdout is not None and process.stdin is not None
        assert process.stdout.readline() == "held\n"
        yield tmp_path / "run", process.pid
        process.stdin.close()


def test_a_folder_in_use_is_refused_with_the_process_id(holder: tuple[Path, int]) -> None:
    folder, owner = holder
    line = refused(*again(folder))
    assert str(folder) in line and "in use" in line
    assert re.search(rf"process {owner}\b", line)
    assert not (folder / "run.json").exists()


def test_a_claim_ends_with_its_user(tmp_path: Path) -> None:
    for _ in range(2):
        with claimed(tmp_path / "run"):
            pass
    with pytest.raises(RuntimeError), claimed(tmp_path / "run"):
        raise RuntimeError
    with claimed(tmp_path / "run"):
        pass


@pytest.mark.parametrize("file", ["run.json", "manifest.json"])
@pytest.mark.parametrize(
    "data", [b"{", b"[1]", b"\xff\xfe\x81", b"[" * 5_000], ids=["half", "list", "binary", "deep"]
)
@pytest.mark.parametrize("command", ["train", "resume"])
def test_a_damaged_run_folder_is_one_line_with_the_file(
    scratch: tuple[Path, Said], tmp_path: Path, command: str, file: str, data: bytes
) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "run.json").write_bytes((scratch[0] / "run.json").read_bytes())
    (folder / file).write_bytes(data)
    line = refused(*(again(folder) if command == "train" else ["resume", str(folder)]))
    assert str(folder / file) in line


def test_an_out_folder_that_cannot_be_made_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    line = refused(*again(tmp_path / "file" / "run"))
    assert str(tmp_path / "file" / "run") in line


# --- evaluate and report ---


def test_evaluating_answers_with_one_json_object(scratch: tuple[Path, Said]) -> None:
    command = ["evaluate", str(scratch[0]), "--episodes", "2", "--json"]
    said = say(*command)
    assert said.code == 0, said.err
    answer = json.loads(said.out)
    assert set(answer) == ANSWER
    assert answer["run"] == str(scratch[0]) and answer["steps"] == 300
    assert -2_000 < answer["return_mean"] < 0
    assert isinstance(answer["seconds"], int | float)
    repeated = json.loads(say(*command).out)
    assert repeated["return_mean"] == answer["return_mean"], "same seed, same episodes"
    other = json.loads(say(*command, "--seed", "7").out)
    assert other["return_mean"] != answer["return_mean"]


def test_evaluating_for_people_says_how_many_episodes(scratch: tuple[Path, Said]) -> None:
    said = say("evaluate", str(scratch[0]), "--episodes", "3")
    assert re.match(r"3 episodes: success n/a, return -\d+", said.out)


def test_evaluating_changes_nothing_in_the_run(scratch: tuple[Path, Said]) -> None:
    before = contents(scratch[0])
    assert say("evaluate", str(scratch[0]), "--episodes", "1").code == 0
    assert contents(scratch[0]) == before


def test_evaluating_a_damaged_run_is_one_line_and_changes_nothing(
    scratch: tuple[Path, Said], tmp_path: Path
) -> None:
    shutil.copytree(scratch[0], tmp_path / "run")
    agent = next((tmp_path / "run" / "checkpoints").glob("step-*")) / "agent.safetensors"
    agent.write_bytes(agent.read_bytes()[:-1])
    before = contents(tmp_path / "run")
    assert str(tmp_path / "run") in refused("evaluate", str(tmp_path / "run"))
    assert contents(tmp_path / "run") == before, "who only reads does not move files"


def test_no_episodes_are_refused(scratch: tuple[Path, Said]) -> None:
    assert "--episodes" in refused("evaluate", str(scratch[0]), "--episodes", "0")


def test_a_report_is_one_page_and_its_pictures(
    scratch: tuple[Path, Said], reused: tuple[Path, Said], tmp_path: Path
) -> None:
    page, pictures = tmp_path / "deep" / "page.html", tmp_path / "png"
    runs = [str(scratch[0]), str(reused[0])]
    said = say("report", *runs, "--out", str(page), "--png", str(pictures))
    assert said.code == 0, said.err
    assert str(page) in said.out
    text = page.read_text()
    assert text.lower().startswith("<!doctype html") and "smec" in text and "scratch" in text
    found = list(pictures.iterdir())
    assert found and all(p.read_bytes().startswith(b"\x89PNG") for p in found)


def test_a_report_that_cannot_be_written_is_one_line(
    scratch: tuple[Path, Said], tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    out = tmp_path / "file" / "page.html"
    assert str(tmp_path / "file") in refused("report", str(scratch[0]), "--out", str(out))


@pytest.mark.parametrize("watched", [True, False])
def test_waiting_shows_a_bar_to_a_watcher_and_leaves_nothing_of_it(
    watched: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = io.StringIO()
    screen = Console(file=said, force_terminal=watched, width=80)
    monkeypatch.setattr(terminal, "console", lambda stderr: screen)
    with terminal.waiting("[three] things", 3) as at:
        at(1, "the [second] thing")
    assert ("the [second] thing" in said.getvalue()) == watched
    assert said.getvalue().endswith("\x1b[1A\x1b[2K" if watched else "")


def test_theory_tells_how_many_mdps_are_done() -> None:
    done: list[int] = []
    theory.check(300, told=done.append)
    assert done == sorted(done) and len(done) > 2 and done[-1] == 300
