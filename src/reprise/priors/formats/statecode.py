"""The instructions in a PyTorch state dict, followed by a machine that can only build records.

`data.pkl` is a program for Python's object machine, which may call anything. This machine knows
the instructions that a dictionary of tensors needs and three names, none of which it imports.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any, NamedTuple

from reprise.boundary.errors import PolicyFileError


class Storage(NamedTuple):
    """A stretch of float32 numbers in a member of the archive."""

    key: str
    size: int


class Tensor(NamedTuple):
    """Which numbers of a storage a tensor shows, and how."""

    storage: Storage
    offset: int
    shape: tuple[int, ...]
    stride: tuple[int, ...]


class _Name(Enum):
    """The only names that may be mentioned; none is ever looked up."""

    ORDERED_DICT = "collections OrderedDict"
    REBUILD = "torch._utils _rebuild_tensor_v2"
    FLOATS = "torch FloatStorage"


def follow(code: bytes, origin: str) -> dict[str, Tensor]:
    """The tensors that the instructions describe."""
    machine = _Machine(code, origin)
    while (instruction := machine.take(1)) != b".":
        step = _STEPS.get(instruction)
        if step is None:
            raise machine.refused(f"instruction 0x{instruction.hex()} is not allowed")
        step(machine)
    result = machine.pop()
    if machine.stack or machine.marks or not isinstance(result, dict):
        raise machine.refused("it is not one dictionary")
    if not all(isinstance(value, Tensor) for value in result.values()):
        raise machine.refused("it holds something other than tensors")
    return result  # pyright: ignore[reportUnknownVariableType]


class _Machine:
    """A stack, marks on it, a memory, and a place in the code."""

    def __init__(self, code: bytes, origin: str) -> None:
        self.code, self.origin, self.at = code, origin, 0
        self.stack: list[Any] = []
        self.marks: list[int] = []
        self.memory: dict[int, Any] = {}

    def refused(self, rule: str) -> PolicyFileError:
        return PolicyFileError(f"{self.origin}: data.pkl, byte {self.at}: {rule}")

    def take(self, count: int) -> bytes:
        taken = self.code[self.at : self.at + count]
        if len(taken) < count:
            raise self.refused("it is truncated")
        self.at += count
        return taken

    def number(self, size: int, signed: bool = False) -> int:
        return int.from_bytes(self.take(size), "little", signed=signed)

    def line(self) -> bytes:
        end = self.code.find(b"\n", self.at) + 1 or len(self.code) + 1
        return self.take(end - self.at)[:-1]

    def push(self, value: Any) -> None:
        self.stack.append(value)

    def pop(self) -> Any:
        if len(self.stack) <= (self.marks[-1] if self.marks else 0):
            raise self.refused("it takes more than it has")
        return self.stack.pop()

    def pop_marked(self) -> list[Any]:
        if not self.marks:
            raise self.refused("a mark is missing")
        start = self.marks.pop()
        items = self.stack[start:]
        del self.stack[start:]
        return items

    def store(self, place: int) -> None:
        self.push(value := self.pop())
        self.memory[place] = value

    def recall(self, place: int) -> None:
        if place not in self.memory:
            raise self.refused("it recalls what it never stored")
        self.push(self.memory[place])

    def set_items(self, items: list[Any]) -> None:
        target = self.pop()
        # Only text is a key: hashing tuples of tuples could take forever.
        if not isinstance(target, dict) or not all(isinstance(key, str) for key in items[::2]):
            raise self.refused("it sets an item of something that is not a dictionary of names")
        if len(items) % 2:
            raise self.refused("a key has no value")
        target.update(zip(items[::2], items[1::2], strict=True))
        self.push(target)


def _start(machine: _Machine) -> None:
    if machine.number(1) != 2:
        raise machine.refused("it is not of protocol 2")


def _mention(machine: _Machine) -> None:
    name = b" ".join((machine.line(), machine.line())).decode("ascii", "backslashreplace")
    if name not in (known.value for known in _Name):
        raise machine.refused(f"the name {name!r:.80} is not allowed")
    machine.push(_Name(name))


def _build(machine: _Machine) -> None:
    """What OrderedDict() and _rebuild_tensor_v2(...) stand for."""
    arguments, name = machine.pop(), machine.pop()
    if name is _Name.ORDERED_DICT and arguments == ():
        machine.push({})
    elif name is _Name.REBUILD and isinstance(arguments, tuple) and len(arguments) >= 4:
        storage, offset, shape, stride = arguments[:4]
        if not isinstance(storage, Storage) or not all(map(_counts, ((offset,), shape, stride))):
            raise machine.refused("a tensor is not described by numbers")
        machine.push(Tensor(storage, offset, shape, stride))
    else:
        raise machine.refused("it calls something")


def _point_to_storage(machine: _Machine) -> None:
    pointer = machine.pop()
    if not isinstance(pointer, tuple) or len(pointer) != 5:
        raise machine.refused("a storage is not described by five values")
    word, kind, key, place, size = pointer
    known = isinstance(word, str) and word == "storage" and kind is _Name.FLOATS
    if not (known and isinstance(key, str) and isinstance(place, str) and _counts((size,))):
        raise machine.refused("a storage does not hold float32 numbers")
    if not (key.isascii() and key.isdecimal() and len(key) <= 20):
        raise machine.refused("a storage's name is not a number")
    machine.push(Storage(key, size))


def _drop_attributes(machine: _Machine) -> None:
    """A state dict carries version numbers of its modules, which nothing here needs."""
    if not isinstance(machine.pop(), dict):
        raise machine.refused("it sets attributes")


def _text(machine: _Machine) -> None:
    try:
        machine.push(machine.take(machine.number(4)).decode())
    except UnicodeDecodeError as error:
        raise machine.refused("a text is not UTF-8") from error


def _counts(value: Any) -> bool:
    return isinstance(value, tuple) and all(type(n) is int and n >= 0 for n in value)


_STEPS: dict[bytes, Callable[[_Machine], None]] = {
    b"\x80": _start,
    b"c": _mention,
    b"R": _build,
    b"Q": _point_to_storage,
    b"b": _drop_attributes,
    b"X": _text,
    b"(": lambda m: m.marks.append(len(m.stack)),
    b"}": lambda m: m.push({}),
    b")": lambda m: m.push(()),
    b"t": lambda m: m.push(tuple(m.pop_marked())),
    b"\x85": lambda m: m.push((m.pop(),)),
    b"\x86": lambda m: m.push((m.pop(), m.pop())[::-1]),
    b"\x87": lambda m: m.push((m.pop(), m.pop(), m.pop())[::-1]),
    b"\x88": lambda m: m.push(True),
    b"\x89": lambda m: m.push(False),
    b"K": lambda m: m.push(m.number(1)),
    b"M": lambda m: m.push(m.number(2)),
    b"J": lambda m: m.push(m.number(4, signed=True)),
    b"q": lambda m: m.store(m.number(1)),
    b"r": lambda m: m.store(m.number(4)),
    b"h": lambda m: m.recall(m.number(1)),
    b"j": lambda m: m.recall(m.number(4)),
    b"s": lambda m: m.set_items([m.pop(), m.pop()][::-1]),
    b"u": lambda m: m.set_items(m.pop_marked()),
}
