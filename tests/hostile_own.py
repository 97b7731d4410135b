"""Hostile folders in place of our own policies."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save as pack
from test_policy_kinds import network

from hostile import PAYLOAD, Write, add, later, objects, put
from reprise.boundary.files import sha256
from reprise.priors import save

# --- our own format ---


def own(name: str, change: Write, rule: str) -> None:
    def write(path: Path) -> None:
        save(path, network("gaussian-mlp", "relu", None))
        change(path)

    add("policy", name, write, rule)


def card(**changes: Any) -> Write:
    def change(path: Path) -> None:
        record = json.loads((path / "policy.json").read_text())
        (path / "policy.json").write_text(json.dumps(record | changes))

    return change


def text(content: bytes) -> Write:
    return lambda path: (path / "policy.json").write_bytes(content)


def numbers(content: bytes | Write) -> Write:
    """Other weights, with a hash that fits."""

    def change(path: Path) -> None:
        file = path / "policy.safetensors"
        (content if callable(content) else put(content))(file)
        card(sha256=sha256(file.read_bytes()))(path)

    return change


def header(content: bytes, body: bytes = b"", length: int | None = None) -> bytes:
    return struct.pack("<Q", len(content) if length is None else length) + content + body


def claim(name: str, start: int, end: int, shape: list[int]) -> dict[str, Any]:
    return {name: {"dtype": "F32", "shape": shape, "data_offsets": [start, end]}}


def replaced_by_link(file: str, target: str) -> Write:
    def change(path: Path) -> None:
        (path / file).unlink()
        (path / file).symlink_to(target)

    return change


def flipped(path: Path) -> None:
    data = bytearray((path / "policy.safetensors").read_bytes())
    data[-1] ^= 1
    (path / "policy.safetensors").write_bytes(data)


def large(path: Path) -> None:
    """A hole of 200 MB behind a sound header."""
    with path.open("wb") as file:
        file.write(header(json.dumps(claim("a", 0, 2 * 10**8, [5 * 10**7])).encode()))
        file.truncate(file.tell() + 2 * 10**8)


OVERLAP = claim("layers.0.weight", 0, 96, [3, 8]) | claim("layers.0.bias", 64, 96, [8])
own("schema of the future", card(schema=2), "schema 2; this reprise reads 1")
own("schema 10^400", card(schema=10**400), "this reprise reads 1")
own("unknown kind", card(kind="gaussian-transformer"), "kind is 'gaussian-transformer'")
own("a kind to be imported", card(kind="os.system"), "kind is 'os.system'")
own("an activation to be imported", card(activation="os.system"), "activation is")
own("a target to be built", card(_target_="os.system"), "unknown fields: ['_target_']")
for bad in ("../evil", "/etc/passwd", "a\x00b", "a\nb", "\x1b[2J", "a\u202eb", "..", "x" * 10**5):
    own(f"name {bad[:12]!a}", card(name=bad), "name is")
own("a size of 10^400", card(obs_dim=10**400), "obs_dim is")
own("a size of 65,536 twice", card(hidden=[2**16, 2**16]), "the layers in policy.json need 17")
own("100,000 layers", card(hidden=[8] * 10**5), "the layers in policy.json need")
own("a pickle as policy.json", text(PAYLOAD), "is not JSON")
own("policy.json 100,000 deep", text(b"[" * 10**5 + b"]" * 10**5), "is not JSON")
own("policy.json of empty lists", text(b"[" + b"[]," * 10**6 + b"1]"), "is larger than 1 MB")
own("policy.json as YAML", text(b"!!python/object/apply:os.system ['touch HACKED']"), "is not JSON")
own("a number of a million digits", text(b'{"schema": ' + b"9" * 10**6 + b"}"), "is not JSON")
own("policy.json as endless zeros", replaced_by_link("policy.json", "/dev/zero"), "ordinary file")
own("weights as endless zeros", replaced_by_link("policy.safetensors", "/dev/zero"), "ordinary")
own("a pickle as weights", numbers(PAYLOAD), "not a safetensors file")
own("an archive of objects as weights", numbers(objects), "not a safetensors file")
own("a header of 2^63 bytes", numbers(header(b"{}", length=2**63)), "not a safetensors file")
own("a header of 90 MB", numbers(later(lambda: header(b" " * (90 * 2**20)))), "header is over 1 MB")
ENTRY = b'"%d":{"dtype":"F32","shape":[0],"data_offsets":[0,0]}'
own(
    "a header of 100,000 tensors",
    numbers(later(lambda: header(b"{" + b",".join(ENTRY % i for i in range(10**5)) + b"}"))),
    "header is over 1 MB",
)
own("a header 100,000 deep", numbers(header(b"[" * 10**5 + b"]" * 10**5)), "not a safetensors")
own("overlapping tensors", numbers(header(json.dumps(OVERLAP).encode(), bytes(96))), "safetensors")
own(
    "a gap between tensors",
    numbers(header(json.dumps(claim("layers.0.weight", 64, 160, [3, 8])).encode(), bytes(160))),
    "not a safetensors file",
)
own(
    "tensors beyond the end",
    numbers(header(json.dumps(claim("layers.0.weight", 0, 10**12, [10**6, 250_000])).encode())),
    "not a safetensors file",
)
own(
    "an overflowing shape",
    numbers(header(json.dumps(claim("layers.0.weight", 0, 4, [2**62, 4])).encode(), bytes(4))),
    "not a safetensors file",
)
own(
    "a gap before a name with terminal codes",
    numbers(header(json.dumps(claim("\x1b[2J\n", 64, 160, [3, 8])).encode(), bytes(160))),
    "not a safetensors file",
)
own(
    "200 MB of unknown tensors",
    numbers(large),
    "the layers in policy.json need",
)
own(
    "NaN weights",
    numbers(
        pack(
            {
                f"layers.{i}.{part}": np.full(shape, np.nan, np.float32)
                for i, pair in enumerate([(3, 8), (8, 5), (5, 4)])
                for part, shape in (("weight", pair), ("bias", pair[1:]))
            }
        )
    ),
    "non-finite weights",
)
own("one flipped bit", flipped, "altered or truncated")
own(
    "a normalizer that divides by zero",
    card(normalizer={"mean": [0.0] * 3, "std": [0.0] * 3, "clip": 1.0}),
    "normalizer is",
)
own("a normalizer to be built", card(normalizer={"_target_": "os.system"}), "normalizer is")
own(
    "a box without width",
    card(kind="clipped-mlp", action_low=[0, 0], action_high=[0, 0]),
    "not below action_high",
)
