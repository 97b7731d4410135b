"""Hostile archives in place of those of Stable-Baselines3."""

from __future__ import annotations

import base64
import json
import pickle
import struct
import zipfile
import zlib
from functools import cache
from pathlib import Path

import numpy as np

from archives import Entry, code, edited, fixture, raw_zip, rezip, unzip, with_weights
from hostile import MARK, PAYLOAD, Bomb, Write, add, later

BASE = "ppo-relu-drift"

# --- Stable-Baselines3: archives ---

SOUND = fixture(BASE)
ZIPPED = rezip(SOUND)
DEFLATED = zipfile.ZIP_DEFLATED


FLOOD_SIZE = 255 * 2**24


@cache
def flood() -> bytes:
    """A deflate stream of 4 GB of zeros, a thousand times smaller, made from 16 MB of them."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    block = packer.compress(bytes(2**24)) + packer.flush(zlib.Z_FULL_FLUSH)
    return block * 255 + packer.flush()


def zeros() -> int:
    """The checksum of the first 30 MB."""
    return zlib.crc32(bytes(30 * 2**20))


def entries(**replaced: Entry) -> list[Entry]:
    """The sound archive, member by member, with some replaced."""
    sound = {name: Entry(name.encode(), content) for name, content in SOUND.items()}
    return list((sound | replaced).values())


def sb3(name: str, content: bytes | Write, rule: str | None) -> None:
    add("sb3", name, content, rule)


sb3("a pickle by the name of zip", PAYLOAD, "not a ZIP archive")
sb3("nothing", b"", "not a ZIP archive")
sb3("only the end of an archive", raw_zip([]), "has no member 'data'")
sb3(
    "a bomb of 4 GB as weights",
    later(
        lambda: raw_zip(
            entries(**{"policy.pth": Entry(b"policy.pth", flood(), DEFLATED, FLOOD_SIZE)})
        )
    ),
    "more than 100 times",
)
sb3(
    "a bomb of 4 GB as record",
    later(lambda: raw_zip(entries(data=Entry(b"data", flood(), DEFLATED, FLOOD_SIZE)))),
    "more than 100 times",
)
sb3(
    "a bomb beside sound members",
    later(lambda: raw_zip([*entries(), Entry(b"notes", flood(), DEFLATED, FLOOD_SIZE)])),
    "more than 100 times",
)
sb3(
    "a bomb that says it is small",
    later(lambda: raw_zip(entries(data=Entry(b"data", flood(), DEFLATED, 1_000)))),
    "'data' is damaged",
)
sb3(
    "a bomb that says it is moderate",
    later(
        lambda: raw_zip(
            entries(**{"policy.pth": Entry(b"policy.pth", flood(), DEFLATED, 30 * 2**20)})
        )
    ),
    "'policy.pth' is damaged",
)
sb3(
    "30 MB of zeros with their checksum",
    later(
        lambda: raw_zip(
            entries(
                **{
                    "policy.pth": Entry(
                        b"policy.pth",
                        flood(),
                        DEFLATED,
                        30 * 2**20,
                        checksum=zeros(),
                    )
                }
            )
        )
    ),
    "policy.pth is not a ZIP archive",
)
sb3(
    "a member that says it has 4 GB",
    later(lambda: raw_zip(entries(data=Entry(b"data", b"{}" * 10**6, size=2**32 - 2)))),
    "more than 100 times",
)
sb3(
    "a record over its cap",
    later(lambda: raw_zip(entries(data=Entry(b"data", b" " * (5 * 2**20))))),
    "over the cap",
)
sb3(
    "2,000 entries on the same bytes",
    later(lambda: raw_zip([Entry(b"a", flood()[: 2**16], DEFLATED, 2**22)] * 2_000, shared=True)),
    "is there twice",
)
sb3(
    "100,000 entries",
    later(lambda: raw_zip([Entry(b"%d" % i, b"") for i in range(20_000)]) * 5),
    "10000 entries",
)
for label, member in {
    "up": b"../../evil",
    "absolute": b"/etc/cron.d/evil",
    "backslash": b"..\\evil",
    "drive": b"C:evil",
    "NUL": b"data\x00.txt",
    "newline": b"a\nb",
    "terminal": b"\x1b[2Jdata",
    "dot": b"a/./b",
    "empty": b"",
    "folder": b"code/",
    "long": b"x" * 5_000,
    "inner up": b"a/../b",
    "not text": b"\xff\xfe",
}.items():
    sb3(f"a member's name: {label}", raw_zip([*entries(), Entry(member, b"x")]), "not allowed")
sb3(
    "a member that is a symbolic link",
    raw_zip([*entries(), Entry(b"link", b"/etc/passwd", attributes=0o120777 << 16)]),
    "symbolic link",
)
sb3(
    "the record as a symbolic link",
    raw_zip(entries(data=Entry(b"data", b"/etc/passwd", attributes=0o120777 << 16))),
    "symbolic link",
)
sb3("two records", raw_zip([*entries(), Entry(b"data", SOUND["data"])]), "'data' is there twice")
sb3(
    "two sets of weights",
    raw_zip([Entry(b"policy.pth", PAYLOAD), *entries()]),
    "'policy.pth' is there twice",
)
sb3(
    "an encrypted member",
    raw_zip(entries(data=Entry(b"data", SOUND["data"], flags=1))),
    "is encrypted",
)
for method in (12, 14, 93, 99):
    sb3(
        f"compression method {method}",
        raw_zip(entries(data=Entry(b"data", SOUND["data"], method))),
        "compressed in a way",
    )
sb3(
    "a wrong checksum",
    raw_zip(entries(data=Entry(b"data", SOUND["data"], checksum=1))),
    "'data' is damaged",
)


def behind_a_hole(path: Path) -> None:
    """An archive may begin anywhere in a file."""
    with path.open("wb") as file:
        file.truncate(90 * 2**20)
        file.seek(0, 2)
        pth = Entry(b"policy.pth", flood(), DEFLATED, 30 * 2**20, checksum=zeros())
        file.write(raw_zip(entries(**{"policy.pth": pth})))


sb3("90 MB before 30 MB of zeros", behind_a_hole, "policy.pth is not a ZIP archive")
for share in range(5, 100, 10):
    sb3(f"cut at {share} %", ZIPPED[: len(ZIPPED) * share // 100], "not a ZIP|no member")
sb3("cut by one byte", ZIPPED[:-1], "not a ZIP archive")
sb3("a tail that was cut off and replaced", ZIPPED[:-60] + bytes(60), "no member")

# --- Stable-Baselines3: the record ---

ENCODED = base64.b64encode(PAYLOAD).decode()
RECORD = json.loads(SOUND["data"])


def recorded(text: bytes) -> bytes:
    return rezip(SOUND | {"data": text})


EVIL = {
    name: value | {":serialized:": ENCODED} if isinstance(value, dict) else value
    for name, value in RECORD.items()
}
sb3("payloads in every serialized object", recorded(json.dumps(EVIL).encode()), None)
sb3(
    "payloads, and more objects",
    recorded(
        json.dumps(
            EVIL
            | {
                name: {":type:": "<class 'function'>", ":serialized:": ENCODED}
                for name in ("policy", "env", "__reduce__", "lr_schedule")
            }
        ).encode()
    ),
    None,
)
sb3(
    "a payload as the policy's class",
    edited(BASE, policy_class={":type:": "x", ":serialized:": ENCODED}),
    "is not the MlpPolicy",
)
sb3(
    "a payload as an option",
    edited(BASE, **{"policy_kwargs/evil": {":serialized:": ENCODED}}),
    "unknown ['evil']",
)
sb3(
    "a payload as the activation",
    edited(BASE, **{"policy_kwargs/activation_fn": {":serialized:": ENCODED}}),
    "not ReLU or Tanh",
)
sb3(
    "an activation to be imported",
    edited(BASE, **{"policy_kwargs/activation_fn": "os.system"}),
    "not ReLU or Tanh",
)
sb3(
    "a class from another module",
    edited(BASE, **{"policy_class/__module__": "evil\n\x1b[2J"}),
    "is not the MlpPolicy",
)
sb3("a pickle as the record", recorded(PAYLOAD), "is not JSON")
sb3("a record 100,000 deep", recorded(b"[" * 10**5 + b"]" * 10**5), "is not JSON")
sb3(
    "a record of objects 100,000 deep", recorded(b'{"a":' * 10**5 + b"1" + b"}" * 10**5), "not JSON"
)
sb3(
    "a field 900 deep",
    recorded(
        json.dumps(RECORD | {"policy_class": "HERE"})
        .replace('"HERE"', '{"__module__":' + "[" * 900 + "]" * 900 + "}")
        .encode()
    ),
    "data",
)
sb3(
    "a number of a million digits",
    later(lambda: recorded(b'{"a": ' + b"9" * 10**6 + b"}")),
    "is not JSON",
)
sb3("a space of 10^400", edited(BASE, **{"observation_space/_shape": [10**400]}), "a size of")
sb3("a space of minus one", edited(BASE, **{"observation_space/_shape": [-1]}), "a size of")
sb3(
    "bounds that are no numbers",
    edited(BASE, **{"action_space/low": "[__import__('os') 1]"}),
    "2 numbers for low",
)
sb3("bounds without end", edited(BASE, **{"action_space/low": "[-inf nan]"}), "not bounded")
sb3("a record that is not text", recorded(b"\xff\xfe\x00\x81"), "is not JSON")
sb3("a record that is a list", recorded(b"[1, 2]"), "not an object")
sb3("a record of nothing", recorded(b"{}"), "has no policy_class")
sb3(
    "YAML tags as the record", recorded(b"!!python/object/apply:os.system ['touch HACKED']"), "JSON"
)

# --- Stable-Baselines3: the weights ---

CODE = code(BASE)


def weights(name: str, program: bytes, rule: str) -> None:
    """Instructions in place of those of a state dict."""
    sb3(f"instructions: {name}", with_weights(BASE, **{"data.pkl": program}), rule)


COMMAND = f"touch {MARK}".encode()
for protocol in range(6):
    rule = "is not allowed" if protocol <= 2 else "is not of protocol 2"
    weights(f"a payload of protocol {protocol}", pickle.dumps(Bomb(), protocol), rule)
weights("a payload before the tensors", PAYLOAD[:-1] + b"0" + CODE, "'posix system' is not allowed")
weights("a payload after the tensors", CODE[:-1] + PAYLOAD[2:], "'posix system' is not allowed")
weights(
    "a payload as a tensor",
    CODE.replace(b"ctorch._utils\n_rebuild_tensor_v2\n", b"cos\nsystem\n"),
    "'os system' is not allowed",
)
weights(
    "a payload as the dictionary",
    CODE.replace(b"ccollections\nOrderedDict\n", b"cbuiltins\neval\n"),
    "'builtins eval' is not allowed",
)
weights(
    "a payload as a storage",
    CODE.replace(b"ctorch\nFloatStorage\n", b"ctorch.hub\nload\n"),
    "'torch.hub load' is not allowed",
)
weights(
    "another type of number",
    CODE.replace(b"ctorch\nFloatStorage\n", b"ctorch\nByteStorage\n"),
    "'torch ByteStorage' is not allowed",
)
for label, program in {
    "INST": b"(S'" + COMMAND + b"'\nios\nsystem\n.",
    "OBJ": b"(cos\nsystem\nX\x01\0\0\0ao.",
    "PERSID": b"P/etc/passwd\n.",
    "EXT1": b"\x80\x02\x82\x01.",
    "NEWOBJ": b"\x80\x02)\x81.",
    "STACK_GLOBAL": b"\x8c\x02os\x8c\x06system\x93.",
    "FRAME": b"\x95" + bytes(8) + b".",
    "FLOAT": b"F1.0\n.",
    "LONG": b"L" + b"9" * 10**5 + b"L\n.",
    "LONG4": b"\x8b\xff\xff\xff\x7f",
    "BYTEARRAY8": b"\x96" + b"\xff" * 8,
    "DUP": b"}2.",
    "LIST": b"].",
    "POP": b"}0.",
}.items():
    weights(label, program, "is not allowed")
weights("a name with terminal codes", b"\x80\x02c\x1b[2J\n\xff\n.", "is not allowed")
weights("a name without end", b"\x80\x02c" + b"a" * 10**5, "truncated")
weights("a text of 4 GB", b"\x80\x02X\xff\xff\xff\xffabc.", "truncated")
weights("a text that is not text", b"\x80\x02X\x01\0\0\0\xff.", "not UTF-8")
weights("a call of a text", b"\x80\x02X\x01\0\0\0a)R.", "it calls something")
weights("a call with a command", b"\x80\x02ccollections\nOrderedDict\nX\x01\0\0\0aR.", "calls")
weights("attributes of a class", b"\x80\x02ccollections\nOrderedDict\nX\x01\0\0\0ab.", "attributes")
weights(
    "a storage from outside",
    CODE.replace(b"X\x01\0\0\x000", b"X\x0b\0\0\0../../../ab"),
    "name is not a number",
)
weights("an empty stack", b"\x80\x02.", "takes more than it has")
weights("a missing mark", b"\x80\x02t.", "mark is missing")
weights("something never stored", b"\x80\x02h\x07.", "never stored")
weights("a key without a value", b"\x80\x02}(X\x01\0\0\0au.", "no value")
weights(
    "keys that take forever to hash", b"\x80\x02})" + b"q\x00h\x00\x86" * 60 + b"K\x01s.", "names"
)
weights("250,000 nested tuples", b"\x80\x02)" + b"\x85" * 250_000 + b".", "not one dictionary")
weights("a dictionary in itself", b"\x80\x02}q\x00X\x01\0\0\0ah\x00s.", "other than tensors")
weights("no tensors", b"\x80\x02}.", "lacks")
weights("too many", CODE[:-1] + b"0" * 2**18, "over the cap")
for place in range(1, len(CODE), len(CODE) // 9):
    weights(f"cut at byte {place}", CODE[:place], "truncated")


def tensor(shape: bytes, stride: bytes, offset: bytes = b"K\x00", size: bytes = b"K\x18") -> bytes:
    """Instructions for one tensor, `log_std`, on storage 0."""
    pointer = (
        b"(X\x07\0\0\0storagectorch\nFloatStorage\nX\x01\0\0\x000X\x03\0\0\0cpu" + size + b"tQ"
    )
    build = b"ctorch._utils\n_rebuild_tensor_v2\n(" + pointer + offset + shape + stride
    name = b"action_net.weight"
    return (
        b"\x80\x02}X"
        + struct.pack("<I", len(name))
        + name
        + build
        + b"\x89ccollections\nOrderedDict\n)RtRs."
    )


HUGE = b"J\xff\xff\xff\x7f"
for label, program, rule in [
    ("overflowing sizes", tensor(HUGE * 2 + b"\x86", HUGE + b"K\x01\x86"), "reaches beyond"),
    ("a negative size", tensor(b"J\xff\xff\xff\xffK\x08\x86", b"K\x08K\x01\x86"), "by numbers"),
    ("one number shown often", tensor(HUGE * 2 + b"\x86", b"K\x00K\x00\x86"), "laid out plainly"),
    ("numbers shown backwards", tensor(b"K\x02K\x08\x86", b"K\x01K\x02\x86"), "laid out plainly"),
    ("an offset beyond", tensor(b"K\x02K\x08\x86", b"K\x08K\x01\x86", HUGE), "reaches beyond"),
    ("a storage of 8 GB", tensor(b"K\x02K\x08\x86", b"K\x08K\x01\x86", size=HUGE), "reaches"),
    ("an empty tensor", tensor(b"K\x00K\x08\x86", b"K\x08K\x01\x86"), "laid out plainly"),
    ("a tensor of no axes", tensor(b")", b")"), "laid out plainly"),
    ("truth for a size", tensor(b"\x88\x88\x86", b"K\x01K\x01\x86"), "by numbers"),
]:  # fmt: skip
    weights(label, program, rule)
STORED = unzip(SOUND["policy.pth"])
for label, value in {"NaN": np.nan, "infinite": np.inf}.items():
    flooded = {
        name.removeprefix("archive/"): np.full(len(content) // 4, value, "<f4").tobytes()
        for name, content in STORED.items()
        if name.startswith("archive/data/")
    }
    sb3(f"{label} weights", with_weights(BASE, **flooded), "non-finite weights")
sb3("a storage that is too short", with_weights(BASE, **{"data/1": b"\0" * 8}), "reaches beyond")
sb3("a storage that is too long", with_weights(BASE, **{"data/1": bytes(10**6)}), "over the cap")
sb3(
    "a storage of 4 GB",
    later(
        lambda: rezip(
            SOUND
            | {
                "policy.pth": raw_zip(
                    [
                        *(
                            Entry(name.encode(), content)
                            for name, content in STORED.items()
                            if name != "archive/data/1"
                        ),
                        Entry(b"archive/data/1", flood(), DEFLATED, FLOOD_SIZE),
                    ]
                )
            }
        )
    ),
    "more than 100 times",
)
sb3("numbers of the other order", with_weights(BASE, byteorder=b"big"), "little-endian")
sb3(
    "two programs",
    rezip(SOUND | {"policy.pth": rezip(STORED | {"other/data.pkl": PAYLOAD})}),
    "it has 2 data.pkl",
)
sb3("weights that are a pickle", rezip(SOUND | {"policy.pth": PAYLOAD}), "not a ZIP archive")
sb3(
    "weights of old PyTorch",
    rezip(SOUND | {"policy.pth": pickle.dumps(0x1950A86A20F9469CFC6C, 2) + PAYLOAD}),
    "not a ZIP archive",
)
sb3(
    "weights that are a script",
    rezip(
        SOUND
        | {
            "policy.pth": rezip(
                {"policy/constants.pkl": PAYLOAD, "policy/code/__torch__.py": b"import os"}
            )
        }
    ),
    "0 data.pkl",
)
sb3(
    "payloads in what is not needed",
    rezip(
        SOUND
        | {
            "policy.optimizer.pth": PAYLOAD,
            "pytorch_variables.pth": PAYLOAD,
            "system_info.txt": PAYLOAD,
        }
    ),
    None,
)
