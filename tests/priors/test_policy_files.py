"""Policies on disk: what is written is read back, and nothing in a stranger's file is trusted."""

from __future__ import annotations

import json
import os
import pickle
import struct
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetensors.numpy import save as pack

from reprise.boundary.errors import PolicyFileError, UserError
from reprise.boundary.files import sha256
from reprise.priors import Policy, Priors, load, resolve, save
from toys import policy

TENSORS, CARD = "policy.safetensors", "policy.json"


def network(name: str, seed: int, sizes: tuple[int, ...] = (4, 8, 8, 4)) -> Policy:
    """Random weights and biases with the given layer sizes."""
    rng = np.random.default_rng(seed)
    outline = policy(name, seed, obs=sizes[0], action=sizes[-1] // 2).card
    shapes = list(pairwise(sizes))
    card = type(outline)(**(vars(outline) | {"hidden": tuple(sizes[1:-1])}))
    weights = tuple(rng.normal(size=shape).astype(np.float32) for shape in shapes)
    biases = tuple(rng.normal(size=shape[1]).astype(np.float32) for shape in shapes)
    return Policy(card, weights, biases)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A sound policy on disk."""
    save(tmp_path / "sound", network("sound", 0))
    return tmp_path / "sound"


def refused(folder: Path, file: str | None = None) -> str:
    """The one line with which a folder is refused; it names the file."""
    with pytest.raises(PolicyFileError) as caught:
        load(folder)
    message = str(caught.value)
    assert len(message.splitlines()) == 1, message
    assert len(message) < 1_000
    assert str(folder / file if file else folder) in message
    return message


def edit(folder: Path, **changes: Any) -> None:
    """Change fields of policy.json."""
    record = json.loads((folder / CARD).read_text())
    (folder / CARD).write_text(json.dumps(record | changes))


def put_tensors(folder: Path, data: bytes) -> None:
    """Replace the weights, with a hash that fits: damage that only the content shows."""
    (folder / TENSORS).write_bytes(data)
    edit(folder, sha256=sha256(data))


# --- what is written is read back ---


def test_a_saved_policy_is_read_back_bit_for_bit(tmp_path: Path) -> None:
    first = network("reach", 1)
    card = save(tmp_path / "reach", first)
    second = load(tmp_path / "reach")
    assert second.card == card
    assert [w.tobytes() for w in second.weights] == [w.tobytes() for w in first.weights]
    assert [b.tobytes() for b in second.biases] == [b.tobytes() for b in first.biases]
    obs = np.random.default_rng(0).normal(size=(5, 4)).astype(np.float32)
    np.testing.assert_array_equal(first(obs).mean, second(obs).mean)


def test_saving_twice_gives_the_same_bytes_and_leaves_nothing_else(tmp_path: Path) -> None:
    for name in ("a", "b"):
        save(tmp_path / name, network("reach", 1))
        assert sorted(path.name for path in (tmp_path / name).iterdir()) == [CARD, TENSORS]
    for file in (CARD, TENSORS):
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes()


def test_policy_json_has_the_fields_of_the_contract(folder: Path) -> None:
    record = json.loads((folder / CARD).read_text())
    assert set(record) == {
        "schema", "kind", "obs_dim", "action_dim", "action_low", "action_high", "hidden",
        "activation", "normalizer", "name", "origin", "task", "success", "sha256",
    }  # fmt: skip
    assert (record["schema"], record["kind"]) == (1, "gaussian-mlp")
    assert record["sha256"] == sha256((folder / TENSORS).read_bytes())


def test_a_policy_is_a_relu_network_whose_log_std_is_clipped(folder: Path) -> None:
    loaded = load(folder)
    obs = 100.0 * np.random.default_rng(0).normal(size=(3, 4)).astype(np.float32)
    x = obs
    for i in range(2):
        x = np.maximum(x @ loaded.weights[i] + loaded.biases[i], 0.0)
    out = x @ loaded.weights[2] + loaded.biases[2]
    said = loaded(obs)
    np.testing.assert_allclose(said.mean, out[:, :2], rtol=1e-6)
    np.testing.assert_allclose(said.log_std, np.clip(out[:, 2:], -10.0, 2.0), rtol=1e-6)


# --- damage ---


@pytest.mark.parametrize("file", [CARD, TENSORS])
def test_a_missing_file_is_refused(folder: Path, file: str) -> None:
    (folder / file).unlink()
    assert "cannot be read" in refused(folder, file)


@pytest.mark.parametrize("file", [CARD, TENSORS])
@pytest.mark.parametrize("share", [0.0, 0.5, 0.99])
def test_a_truncated_file_is_refused(folder: Path, file: str, share: float) -> None:
    data = (folder / file).read_bytes()
    (folder / file).write_bytes(data[: int(share * len(data))])
    refused(folder, file)


def test_every_flipped_bit_of_the_weights_is_noticed(folder: Path) -> None:
    data = bytearray((folder / TENSORS).read_bytes())
    for place in range(0, len(data), 97):
        data[place] ^= 1
        (folder / TENSORS).write_bytes(data)
        assert "altered or truncated" in refused(folder, TENSORS)
        data[place] ^= 1


def test_a_file_larger_than_any_policy_is_refused_unread(folder: Path) -> None:
    with (folder / TENSORS).open("wb") as file:
        file.truncate(257 * 2**20)  # sparse
    assert "larger than 256 MB" in refused(folder, TENSORS)


@pytest.mark.parametrize("file", [CARD, TENSORS])
@pytest.mark.timeout(3, method="signal")
def test_a_pipe_in_place_of_a_file_is_refused_not_waited_for(folder: Path, file: str) -> None:
    (folder / file).unlink()
    os.mkfifo(folder / file)
    refused(folder, file)


@pytest.mark.parametrize("file", [CARD, TENSORS])
def test_a_folder_in_place_of_a_file_is_refused(folder: Path, file: str) -> None:
    (folder / file).unlink()
    (folder / file).mkdir()
    refused(folder, file)


# --- what policy.json may say ---


def test_a_newer_schema_is_refused_and_says_which_one_is_read(folder: Path) -> None:
    edit(folder, schema=2)
    message = refused(folder, CARD)
    assert "schema 2" in message and "reads 1" in message


@pytest.mark.parametrize("schema", [0, "1", None, True, [1], 1.5, "x" * 5_000, "a\nb"])
def test_another_schema_is_refused(folder: Path, schema: Any) -> None:
    edit(folder, schema=schema)
    assert "schema" in refused(folder, CARD)


def test_no_schema_is_refused(folder: Path) -> None:
    (folder / CARD).write_text('{"kind": "gaussian-mlp"}')
    assert "no schema" in refused(folder, CARD)


@pytest.mark.parametrize(
    "text", ["", "{", "[1, 2]", "null", "3", '"text"', "schema: 1", "\x00\x01", "{'schema': 1}"]
)
def test_what_is_not_a_json_object_is_refused(folder: Path, text: str) -> None:
    (folder / CARD).write_text(text)
    refused(folder, CARD)


def test_bytes_that_are_not_text_are_refused(folder: Path) -> None:
    (folder / CARD).write_bytes(b"\xff\xfe\x00\x81")
    assert "not JSON" in refused(folder, CARD)


@pytest.mark.parametrize("depth", [100, 900, 2_000, 100_000])
@pytest.mark.parametrize("field", ["schema", "normalizer", "hidden", "success", "odd"])
def test_deeply_nested_json_is_refused(folder: Path, depth: int, field: str) -> None:
    record = json.loads((folder / CARD).read_text()) | {field: "HERE"}
    text = json.dumps(record).replace('"HERE"', "[" * depth + "]" * depth)
    (folder / CARD).write_text(text)
    refused(folder, CARD)


BAD: dict[str, list[Any]] = {
    "kind": ["gaussian-cnn", "os.system", "", None, 1, [], {}, "gaussian-mlp\n"],
    "activation": ["gelu", "eval", "", None, ["relu"]],
    "normalizer": [{}, {"mean": [0.0]}, "none", 0, False],
    "obs_dim": [0, -1, 2**40, 4.0, "4", None, True, [4], 10**400],
    "action_dim": [0, -1, 2**40, 2.0, "2", None, True],
    "hidden": [None, 8, [0], [-8], [8.0, 8], ["8", 8], [[8], 8], {"0": 8}, [True, 8], "88"],
    "action_low": [
        None, [], [-1.0], [-1.0] * 3, ["-1", "-1"], [None, -1], 5, [[-1.0], -1.0], [10**400, 0],
        [True, 0.0],
    ],
    "action_high": [None, [], [1.0], [1.0] * 3, ["1", "1"], "11", [1.0, {}]],
    "name": [
        "", "../evil", "..", ".", "a/b", "a\\b", "a b", "a\nb", "a\x00b", "é", "x" * 65, "a,b",
        None, 3, ["a"], "name\n", "<b>", "/etc/passwd", "C:", "\ud800",
    ],
    "origin": [None, 3, ["a"], "x" * 1_001],
    "task": [None, 3, {"a": 1}, "x" * 1_001],
    "success": [None, [], 0.5, {"a": "b"}, {"a": None}, {"a": [1]}, {"a": 10**400}],
    "sha256": [None, 3, "", "0" * 64, "x" * 2_000],
}  # fmt: skip


@pytest.mark.parametrize(
    ("field", "value"),
    [(field, value) for field, values in BAD.items() for value in values],
    ids=lambda value: repr(value)[:24].encode("ascii", "backslashreplace").decode(),
)
def test_a_value_that_is_not_allowed_is_refused(folder: Path, field: str, value: Any) -> None:
    edit(folder, **{field: value})
    message = refused(folder).replace(str(folder), "")
    assert field in message or (field == "sha256" and "SHA-256" in message)


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999"])
@pytest.mark.parametrize("field", ["action_low", "success"])
def test_a_non_finite_number_is_refused(folder: Path, number: str, field: str) -> None:
    value: Any = ["HERE", 0.0] if field == "action_low" else {"a": "HERE"}
    edit(folder, **{field: value})
    text = (folder / CARD).read_text().replace('"HERE"', number)
    (folder / CARD).write_text(text)
    assert field in refused(folder, CARD)


@pytest.mark.parametrize("field", ["odd", "_target_", "a\nb", "x" * 5_000, "\x1b[2J", "\u2028"])
def test_an_unknown_field_is_refused_in_one_plain_line(folder: Path, field: str) -> None:
    edit(folder, **{field: 1})
    message = refused(folder, CARD)
    assert "unknown field" in message
    assert message.isprintable()


@pytest.mark.parametrize("field", list(BAD))
def test_a_missing_field_is_refused(folder: Path, field: str) -> None:
    record = json.loads((folder / CARD).read_text())
    del record[field]
    (folder / CARD).write_text(json.dumps(record))
    message = refused(folder, CARD)
    assert "lacks" in message and field in message


# --- what policy.safetensors may hold ---


def tensors() -> dict[str, np.ndarray]:
    source = network("sound", 0)
    found = {f"layers.{i}.weight": w for i, w in enumerate(source.weights)}
    return found | {f"layers.{i}.bias": b for i, b in enumerate(source.biases)}


def test_the_helper_above_writes_a_sound_file(folder: Path) -> None:
    put_tensors(folder, pack(tensors()))
    load(folder)


@pytest.mark.parametrize(
    "change",
    [
        {"layers.0.weight": np.zeros((5, 8), np.float32)},
        {"layers.0.weight": np.zeros((8, 4), np.float32)},
        {"layers.2.weight": np.zeros((8, 2), np.float32)},
        {"layers.1.bias": np.zeros((1, 8), np.float32)},
        {"layers.1.bias": np.zeros((), np.float32)},
        {"layers.1.bias": np.zeros(0, np.float32)},
        {"layers.1.bias": np.zeros(8, np.float64)},
        {"layers.1.bias": np.zeros(8, np.int32)},
        {"layers.1.bias": np.full(8, np.nan, np.float32)},
        {"layers.1.weight": np.full((8, 8), np.inf, np.float32)},
    ],
    ids=lambda change: "-".join(f"{k}{v.shape}{v.dtype}" for k, v in change.items()),
)
def test_a_wrong_shape_type_or_number_is_refused_by_its_name(
    folder: Path, change: dict[str, np.ndarray]
) -> None:
    put_tensors(folder, pack(tensors() | change))
    message = refused(folder, TENSORS)
    assert next(iter(change)) in message


def test_a_missing_tensor_is_refused_by_its_name(folder: Path) -> None:
    held = tensors()
    del held["layers.2.bias"]
    put_tensors(folder, pack(held))
    assert "layers.2.bias" in refused(folder, TENSORS)


@pytest.mark.parametrize("name", ["layers.3.weight", "../../odd", "a\nb", "x" * 5_000, "\x1b[2J"])
def test_an_unknown_tensor_is_refused_in_one_plain_line(folder: Path, name: str) -> None:
    put_tensors(folder, pack(tensors() | {name: np.zeros(1, np.float32)}))
    message = refused(folder, TENSORS)
    assert "unknown" in message
    assert message.isprintable()


def raw_tensors(header: bytes, body: bytes = b"", length: int | None = None) -> bytes:
    return struct.pack("<Q", len(header) if length is None else length) + header + body


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x00" * 8,
        raw_tensors(b"{}", length=2**63),
        raw_tensors(b"{}", length=99 * 2**20),
        raw_tensors(b"x" * 64),
        raw_tensors(b"[" * 50_000 + b"]" * 50_000),
        raw_tensors(b'{"a":' * 10_000 + b"1" + b"}" * 10_000),
        raw_tensors(b'{"a\nb": {"dtype": "F99\n", "shape": [1], "data_offsets": [0, 4]}}'),
        raw_tensors(b'{"a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 400]}}'),
        raw_tensors(
            b'{"layers.0.weight": {"dtype": "F32", "shape": [4611686018427387904, 4], '
            b'"data_offsets": [0, 4]}}', b"\x00" * 4,
        ),
        raw_tensors(b'{"a": {"dtype": "BF16", "shape": [2], "data_offsets": [0, 4]}}', b"\x00" * 4),
        raw_tensors(
            b'{"a": {"dtype": "F8_E4M3", "shape": [4], "data_offsets": [0, 4]}}', b"\x00" * 4
        ),
        raw_tensors(
            b'{"a": {"dtype": "F4", "shape": [8], "data_offsets": [0, 4]}}', b"\x00" * 4
        ),
        raw_tensors(b'{"__metadata__": {"a": "b"}}'),
        raw_tensors(b" " * 1_000_000 + b"{}"),
    ],
    ids=[
        "empty", "zeros", "giant-header-claim", "header-beyond-the-end", "not-json", "deep-list",
        "deep-objects", "unknown-dtype", "offsets-beyond-the-end", "overflowing-shape", "bf16",
        "f8", "f4", "metadata-only", "padded-header",
    ],
)  # fmt: skip
def test_a_hostile_tensor_file_is_refused(folder: Path, data: bytes) -> None:
    put_tensors(folder, data)
    refused(folder, TENSORS)


class Bomb:
    """Unpickling it creates a file."""

    def __init__(self, mark: Path):
        self.mark = mark

    def __reduce__(self) -> Any:
        return os.mkdir, (str(self.mark),)


@pytest.mark.parametrize("file", [CARD, TENSORS])
def test_a_pickle_is_refused_and_not_executed(folder: Path, tmp_path: Path, file: str) -> None:
    data = pickle.dumps(Bomb(tmp_path / "boom"))
    if file == TENSORS:
        put_tensors(folder, data)
    else:
        (folder / CARD).write_bytes(data)
    refused(folder, file)
    assert not (tmp_path / "boom").exists()
    pickle.loads(data)
    assert (tmp_path / "boom").exists(), "the bomb works, so its silence above means something"


# --- where priors come from ---


def test_a_folder_of_policies_is_sorted_by_name(tmp_path: Path) -> None:
    for name in ("b", "c", "a"):
        save(tmp_path / name, network(name, 0))
    assert resolve([str(tmp_path)]).names == ("a", "b", "c")


def test_references_are_taken_in_the_order_given(tmp_path: Path) -> None:
    for name in ("a", "b"):
        save(tmp_path / name, network(name, 0))
    found = resolve([str(tmp_path / "b"), str(tmp_path / "a")])
    assert found.names == ("b", "a")
    assert [record.ref for record in found.records] == [str(tmp_path / "b"), str(tmp_path / "a")]
    assert all(len(record.sha256) == 64 for record in found.records)


@pytest.mark.parametrize("file", [CARD, TENSORS])
def test_a_file_of_a_policy_names_that_policy(folder: Path, file: str) -> None:
    assert resolve([str(folder / file)]).names == ("sound",)


def test_the_policy_of_a_run_is_a_prior(tmp_path: Path) -> None:
    save(tmp_path / "run" / "policy", network("old", 0))
    assert resolve([f"run:{tmp_path / 'run'}"]).names == ("old",)


def test_symlinked_folders_are_not_followed_in_a_scan(tmp_path: Path) -> None:
    save(tmp_path / "elsewhere" / "b", network("b", 0))
    save(tmp_path / "library" / "a", network("a", 0))
    (tmp_path / "library" / "b").symlink_to(tmp_path / "elsewhere" / "b")
    assert resolve([str(tmp_path / "library")]).names == ("a",)


def test_other_files_and_folders_beside_policies_are_passed_over(tmp_path: Path) -> None:
    save(tmp_path / "a", network("a", 0))
    (tmp_path / "notes").mkdir()
    (tmp_path / "README.md").write_text("about these policies")
    assert resolve([str(tmp_path)]).names == ("a",)


def test_one_damaged_policy_of_a_folder_is_an_error_not_an_omission(tmp_path: Path) -> None:
    for name in ("a", "b"):
        save(tmp_path / name, network(name, 0))
    (tmp_path / "b" / CARD).write_text("{")
    with pytest.raises(PolicyFileError, match="not JSON"):
        resolve([str(tmp_path)])


def test_a_folder_without_policies_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PolicyFileError, match="holds no policy"):
        resolve([str(tmp_path)])


@pytest.mark.parametrize("ref", ["nowhere", "zoo:nothing", "zoo:../zoo", "zoo:", "run:nowhere"])
def test_an_unknown_reference_is_refused_in_one_line(ref: str) -> None:
    with pytest.raises(UserError) as caught:
        resolve([ref])
    assert "\n" not in str(caught.value)
    assert ref.partition(":")[2] in str(caught.value)


def test_two_priors_of_one_name_are_refused(tmp_path: Path) -> None:
    save(tmp_path / "one" / "a", network("same", 0))
    save(tmp_path / "two" / "a", network("same", 1))
    with pytest.raises(UserError, match="'same' is taken or reserved"):
        resolve([str(tmp_path / "one"), str(tmp_path / "two")])


@pytest.mark.parametrize("name", ["task", "start", "random"])
def test_a_reserved_name_is_refused(name: str) -> None:
    with pytest.raises(UserError, match=f"'{name}' is taken or reserved"):
        Priors([network(name, 0)])


def test_sizes_that_differ_from_the_tasks_are_both_named(tmp_path: Path) -> None:
    save(tmp_path / "a", network("a", 0, (4, 8, 4)))
    found = resolve([str(tmp_path / "a")])
    found.fit(4, 2, "toy")
    with pytest.raises(UserError) as caught:
        found.fit(27, 8, "antmaze/u")
    message = str(caught.value)
    assert "\n" not in message
    for fact in ("'a'", str(tmp_path / "a"), "4 obs", "2 actions", "'antmaze/u'", "27", "8"):
        assert fact in message
    for sizes in ((5, 2), (4, 3)):
        with pytest.raises(UserError):
            found.fit(*sizes, "toy")


# --- asked together ---


def ask_each(policies: list[Policy], obs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    said = [one(obs) for one in policies]
    means, log_stds = zip(*said, strict=True)
    return np.stack(means, axis=1), np.stack(log_stds, axis=1)


@pytest.mark.parametrize("count", [1, 2, 7])
@pytest.mark.parametrize("states", [1, 5])
def test_stacked_priors_say_what_each_says_alone(count: int, states: int) -> None:
    policies = [network(f"p{i}", i) for i in range(count)]
    obs = np.random.default_rng(9).normal(size=(states, 4)).astype(np.float32)
    said = Priors(policies)(obs, 2).says
    mean, log_std = ask_each(policies, obs)
    assert said.mean.shape == (states, count, 2) and said.mean.dtype == np.float32
    np.testing.assert_allclose(said.mean, mean, rtol=1e-6, atol=1e-5)
    np.testing.assert_allclose(said.log_std, log_std, rtol=1e-6, atol=1e-5)


def test_priors_of_different_architectures_work_together() -> None:
    policies = [network("flat", 0, (4, 4)), network("wide", 1, (4, 32, 4)), network("deep", 2)]
    obs = np.random.default_rng(9).normal(size=(5, 4)).astype(np.float32)
    said = Priors(policies)(obs, 2).says
    mean, log_std = ask_each(policies, obs)
    assert said.mean.shape == (5, 3, 2)
    np.testing.assert_array_equal(said.mean, mean)
    np.testing.assert_array_equal(said.log_std, log_std)


def test_no_priors_give_empty_advice_of_the_right_shape() -> None:
    said = Priors()(np.zeros((3, 4), np.float32), 2).says
    assert said.mean.shape == said.log_std.shape == (3, 0, 2)
    assert said.mean.dtype == np.float32
    assert len(Priors()) == 0


# --- strangers' bytes ---

QUICK = settings(
    max_examples=300, deadline=None, derandomize=True, database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)  # fmt: skip
TOKENS = [
    b"", b"\n", b"[", b"{", b'"', b"NaN", b"1e999", b"-1", b"9" * 400, b"null", b"true", b"\\ud800",
    b"\xff", b"\x00" * 8, b"\xff" * 8, b'"a":1,', b"__class__", b"F64", b"BF16", b"I8", b"BOOL",
]  # fmt: skip
edits = st.lists(
    st.tuples(
        st.floats(0, 1), st.integers(0, 16), st.binary(max_size=8) | st.sampled_from(TOKENS)
    ),
    min_size=1,
    max_size=4,
)  # fmt: skip
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(-(10**400), 10**400)
    | st.floats()
    | st.text(max_size=70),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=5,
)


def mutate(data: bytes, changes: list[tuple[float, int, bytes]]) -> bytes:
    for place, cut, new in changes:
        at = int(place * len(data))
        data = data[:at] + new + data[at + cut :]
    return data


def accepted_or_refused(folder: Path) -> None:
    """Only our own error may come out, in one printable line with the file's name."""
    try:
        found = load(folder)
    except PolicyFileError as error:
        assert len(str(error).splitlines()) == 1
        assert str(error).isprintable()
        assert str(folder) in str(error)
    else:
        said = found(np.zeros((1, found.card.obs_dim), np.float32))
        assert np.isfinite(said.mean).all()


@pytest.fixture(scope="module")
def victim(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, bytes, bytes]:
    folder = tmp_path_factory.mktemp("fuzz") / "victim"
    save(folder, network("victim", 0, (2, 3, 2)))
    return folder, (folder / CARD).read_bytes(), (folder / TENSORS).read_bytes()


@QUICK
@given(changes=edits)
def test_any_bytes_as_policy_json_are_accepted_or_refused_cleanly(
    victim: tuple[Path, bytes, bytes], changes: list[tuple[float, int, bytes]]
) -> None:
    folder, card, data = victim
    (folder / TENSORS).write_bytes(data)
    (folder / CARD).write_bytes(mutate(card, changes))
    accepted_or_refused(folder)


@QUICK
@given(field=st.sampled_from([*BAD, "schema"]) | st.text(max_size=20), value=values)
def test_any_value_of_any_field_is_accepted_or_refused_cleanly(
    victim: tuple[Path, bytes, bytes], field: str, value: Any
) -> None:
    folder, card, data = victim
    (folder / TENSORS).write_bytes(data)
    (folder / CARD).write_text(json.dumps(json.loads(card) | {field: value}))
    accepted_or_refused(folder)


@QUICK
@given(changes=edits, vouched=st.booleans())
def test_any_bytes_as_weights_are_accepted_or_refused_cleanly(
    victim: tuple[Path, bytes, bytes], changes: list[tuple[float, int, bytes]], vouched: bool
) -> None:
    folder, card, data = victim
    mutated = mutate(data, changes)
    (folder / TENSORS).write_bytes(mutated)
    record = json.loads(card)
    (folder / CARD).write_text(
        json.dumps(record | {"sha256": sha256(mutated)} if vouched else record)
    )
    accepted_or_refused(folder)
