"""Hostile files: nothing in them runs, nothing is written, each is refused soon, in one line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

import hostile_onnx
import hostile_own
import hostile_sb3
from archives import SB3, code, fixture, rezip, with_weights
from hostile import CASES, MARK, PAYLOAD
from reprise.boundary.errors import PolicyFileError
from reprise.priors.formats import onnx, sb3, sb3record, statecode
from reprise.priors.formats.archive import Archive
from reprise.priors.source import read, shown

HERE = Path(__file__).parents[1]
SECONDS, MEGABYTES = 2.0, 512
Report = dict[str, dict[str, Any]]


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Report]:
    """All files loaded by one other process, which watches itself."""
    folder, work = tmp_path_factory.mktemp("corpus"), tmp_path_factory.mktemp("work")
    paths: dict[str, tuple[str, str]] = {}
    for number, (name, case) in enumerate(CASES.items()):
        path = folder / f"case{number}"
        case.write(path)
        paths[name] = (case.format, str(path))
    (work / "bomb").write_bytes(PAYLOAD)
    before = {path: path.lstat().st_mtime_ns for path in folder.rglob("*")}
    done = subprocess.run(
        [sys.executable, str(HERE / "watched.py"), str(work)],
        input=json.dumps(paths), cwd=work, capture_output=True, text=True, timeout=120,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2_000:]
    found = json.loads(done.stdout)
    found["files"] = {
        "changed": [str(p) for p in folder.rglob("*") if before.get(p) != p.lstat().st_mtime_ns],
        "left": sorted(path.name for path in work.iterdir()),
    }
    for name, (_, path) in paths.items():
        found[name]["path"] = path
    yield found
    for path in folder.glob("case*"):
        if path.is_file() and not path.is_symlink():
            path.unlink()


def test_the_corpus_is_large_and_of_every_format() -> None:
    assert hostile_onnx and hostile_own and hostile_sb3
    formats = [case.format for case in CASES.values()]
    assert len(CASES) >= 250
    assert min(formats.count(format) for format in ("sb3", "onnx", "policy")) >= 30


@pytest.mark.parametrize("name", CASES)
def test_a_hostile_file_is_refused_by_its_rule(name: str, report: Report) -> None:
    found, rule = report[name], CASES[name].rule
    assert found["events"] == []
    assert found["seconds"] <= SECONDS, "of computing: another process may have the machine"
    assert found["megabytes"] <= MEGABYTES
    if rule is None:
        assert found["error"] == ""
        return
    assert found["kind"] in ("PolicyFileError", "UserError"), found
    assert any(words in found["error"] for words in rule.split("|")), found["error"]
    assert found["path"] in found["error"]
    assert found["error"].isprintable() and len(found["error"]) < 600


def test_nothing_was_executed_or_written(report: Report) -> None:
    assert report["files"]["changed"] == []
    # The mark and the file are the controls' own, made after the corpus was through.
    assert report["files"]["left"] == [MARK, "bomb", "written"]


def test_the_watch_sees_what_it_watches_for(report: Report) -> None:
    payload = report["control: payload"]["events"]
    assert any(event.startswith("pickle.find_class") for event in payload)
    assert any(event.startswith("os.system") for event in payload)
    assert any("written" in event for event in report["control: write"]["events"])
    assert any(event.startswith("import") for event in report["control: import"]["events"])


def test_other_formats_do_without_onnx(report: Report) -> None:
    assert report["before onnx"] == {"onnx": False}


# --- names of files ---


@pytest.mark.parametrize("name", ["a\nb.zip", "\x1b[2J.zip", "a\u202eb.zip", "a\udcffb.zip"])
def test_a_hostile_file_name_is_shown_in_one_printable_line(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"PK")
    with pytest.raises(PolicyFileError) as caught:
        sb3.load(tmp_path / name)
    assert str(caught.value).isprintable()
    assert shown(tmp_path / name) in str(caught.value)


def test_a_file_name_with_a_nul_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PolicyFileError, match="not a file's name"):
        sb3.load(tmp_path / "a\0b.zip")


def test_a_link_that_the_user_names_leads_to_the_same_policy(tmp_path: Path) -> None:
    (tmp_path / "link.zip").symlink_to(SB3 / "ppo-relu-drift.zip")
    assert sb3.load(tmp_path / "link.zip").card.name == "link"


def test_a_file_is_opened_once(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[Any] = []
    real = os.open
    monkeypatch.setattr(os, "open", lambda *given: (opened.append(given[0]), real(*given))[1])
    path = SB3 / "ppo-relu-drift.zip"
    sb3.load(path)
    assert opened == [str(path)]


def test_a_file_that_grows_while_it_is_read_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a").write_bytes(b"12345")
    real = os.fstat

    class Older:
        def __init__(self, status: os.stat_result):
            self.st_mode, self.st_size = status.st_mode, status.st_size - 1

    monkeypatch.setattr(os, "fstat", lambda handle: Older(real(handle)))
    with pytest.raises(PolicyFileError, match="changed meanwhile"):
        read(tmp_path / "a")


# --- any bytes ---

QUICK = settings(
    max_examples=100, deadline=None, derandomize=True, database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)  # fmt: skip
Edits = list[tuple[float, int, bytes]]
TOKENS = [
    b"", b"\x00" * 4, b"\xff" * 4, b"PK\x01\x02", b"PK\x05\x06", b"\x80\x04", b"(", b"t", b"R",
    b"Q", b"cos\nsystem\n", b"K\x00", b"J\xff\xff\xff\xff", b"\x85", b"u", b"s", b"b", b".",
    b"h\x00", b"}", b"[", b"{", b'"', b"NaN", b"9" * 400, b"null", b"\x0a\x00", b"\x3a\x00",
    b"\x10\x07",
]  # fmt: skip
edits = st.lists(
    st.tuples(
        st.floats(0, 1), st.integers(0, 16), st.binary(max_size=8) | st.sampled_from(TOKENS)
    ),
    min_size=1,
    max_size=4,
)  # fmt: skip
FIELDS = [
    "policy_class", "policy_class/__module__", "policy_class/__init__", "policy_kwargs", "use_sde",
    "policy_kwargs/activation_fn", "policy_kwargs/clip_mean", "policy_kwargs/squash_output",
    "policy_kwargs/features_extractor_class", "observation_space", "observation_space/:type:",
    "observation_space/_shape", "action_space/_shape", "action_space/low", "action_space/high",
]  # fmt: skip
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**400), 10**400) | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
bases = st.sampled_from(["ppo-relu-drift", "sac-gsde-pendulum", "td3-linear-pendulum"])


def mutate(data: bytes, changes: Edits) -> bytes:
    for place, cut, new in changes:
        at = int(place * len(data))
        data = data[:at] + new + data[at + cut :]
    return data


def accepted_or_refused(load: Callable[[], Any]) -> None:
    """Only our own error may come out, in one printable line."""
    try:
        found = load()
    except PolicyFileError as error:
        assert str(error).isprintable() and len(str(error)) < 600
    else:
        if hasattr(found, "card"):
            said = found(np.zeros((1, found.card.obs_dim), np.float32))
            assert said.mean.shape == (1, found.card.action_dim)


@pytest.fixture(scope="module")
def victim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fuzz") / "victim"


@QUICK
@given(base=bases, changes=edits)
def test_any_bytes_as_an_archive(victim: Path, base: str, changes: Edits) -> None:
    victim.write_bytes(mutate((SB3 / f"{base}.zip").read_bytes(), changes))
    accepted_or_refused(lambda: sb3.load(victim))


@QUICK
@given(changes=edits)
def test_any_bytes_as_a_small_archive(changes: Edits) -> None:
    data = mutate(rezip({"data": b"{}", "a/b": b"x" * 50}), changes)
    accepted_or_refused(lambda: [Archive(data, "x").read(name, 100) for name in ("data", "a/b")])


@QUICK
@given(base=bases, changes=edits)
def test_any_bytes_as_instructions(victim: Path, base: str, changes: Edits) -> None:
    program = mutate(code(base), changes)
    accepted_or_refused(lambda: statecode.follow(program, "x"))
    victim.write_bytes(with_weights(base, **{"data.pkl": program}))
    accepted_or_refused(lambda: sb3.load(victim))


@QUICK
@given(program=st.lists(st.sampled_from(sorted(statecode._STEPS)) | st.binary(max_size=3)))
def test_any_sequence_of_instructions(program: list[bytes]) -> None:
    accepted_or_refused(lambda: statecode.follow(b"\x80\x02" + b"".join(program) + b".", "x"))


@QUICK
@given(base=bases, changes=edits)
def test_any_bytes_as_a_record(base: str, changes: Edits) -> None:
    data = mutate(fixture(base)["data"], changes)
    accepted_or_refused(lambda: sb3record.parse(data, "x"))


@QUICK
@given(base=bases, field=st.sampled_from(FIELDS) | st.text(max_size=5), value=values)
def test_any_value_in_a_record(base: str, field: str, value: Any) -> None:
    record = json.loads(fixture(base)["data"])
    outer, _, inner = field.partition("/")
    (record[outer] if inner and outer in record else record)[inner or outer] = value
    accepted_or_refused(lambda: sb3record.parse(json.dumps(record).encode(), "x"))


@QUICK
@given(name=st.sampled_from(["sac-relu-pendulum", "ppo-relu-drift"]), changes=edits)
def test_any_bytes_as_a_model(victim: Path, name: str, changes: Edits) -> None:
    victim.write_bytes(mutate((SB3.parent / "onnx" / f"{name}.onnx").read_bytes(), changes))
    accepted_or_refused(lambda: onnx.load(victim))
