"""A first look at the bytes of an ONNX file, before any library builds objects from them.

Two bytes can stand for an object of hundreds, so a small file may fill the memory when parsed.
This walk knows which parts a plain feed-forward model has, counts them, and refuses the others:
subgraphs, functions, sparse and external tensors.
"""

from __future__ import annotations

from reprise.boundary.errors import PolicyFileError

MOST_PARTS = 50_000
LONGEST_TEXT = 2**16
Parts = dict[int, str]

_TENSOR = {1: "", 2: "", 4: "numbers", 5: "", 7: "", 8: "", 9: "numbers", 10: "numbers", 12: ""}
SCHEMA: dict[str, Parts] = {
    "model": {1: "", 2: "", 3: "", 4: "", 5: "", 6: "", 7: "graph", 8: "pair", 14: "pair"},
    "graph": {
        1: "node", 2: "", 5: "tensor", 10: "", 11: "value", 12: "value", 13: "value", 16: "pair",
    },
    "node": {1: "", 2: "", 3: "", 4: "", 5: "attribute", 6: "", 7: "", 8: "", 9: "pair"},
    "attribute": {1: "", 2: "", 3: "", 4: "", 5: "tensor", 7: "", 8: "", 9: "", 13: "", 20: ""},
    "tensor": _TENSOR | {14: "", 16: "pair"},
    "value": {1: "", 2: "type", 3: "", 4: "pair"},
    "type": {1: "array", 6: ""},
    "array": {1: "", 2: "shape"},
    "shape": {1: "dimension"},
    "dimension": {1: "", 2: "", 3: ""},
    "pair": {1: "", 2: ""},
}  # fmt: skip
"""Field numbers of onnx.proto that are allowed; what a field holds, "" for text or a number."""

NAMES = {
    ("model", 20): "training",
    ("model", 25): "a function",
    ("graph", 15): "a sparse tensor",
    ("attribute", 6): "a graph in a node",
    ("attribute", 11): "a graph in a node",
    ("tensor", 6): "a tensor of text",
    ("tensor", 13): "a tensor in another file",
}
"""Fields that are not allowed, and what to call them."""


def look(data: bytes, origin: str) -> None:
    """Refuse bytes that are not a plain model of moderate size."""
    _Walk(data, origin).message("model", 0, len(data))


class _Walk:
    """Goes over nested messages and counts their fields."""

    def __init__(self, data: bytes, origin: str) -> None:
        self.data, self.origin, self.parts = data, origin, 0

    def refused(self, rule: str) -> PolicyFileError:
        return PolicyFileError(f"{self.origin} is not an ONNX model that can be read: {rule}")

    def message(self, kind: str, at: int, end: int) -> None:
        while at < end:
            self.parts += 1
            if self.parts > MOST_PARTS:
                raise self.refused(f"it has more than {MOST_PARTS} parts")
            key, at = self.number(at, end)
            field, wire = key >> 3, key & 7
            content = SCHEMA[kind].get(field)
            if content is None:
                found = NAMES.get((kind, field), f"field {field} of {kind!r}")
                raise self.refused(f"{found} is not allowed")
            at = self.field(content, wire, at, end)

    def field(self, content: str, wire: int, at: int, end: int) -> int:
        """Go over one field; returns where the next begins."""
        if wire == 0 and content == "":
            return self.number(at, end)[1]
        if wire in (1, 5) and content in ("", "numbers"):
            return self.within(at + (8 if wire == 1 else 4), end)
        if wire != 2:
            raise self.refused(f"wire type {wire} at byte {at} is not allowed")
        length, at = self.number(at, end)
        after = self.within(at + length, end)
        if content in SCHEMA:
            self.message(content, at, after)
        elif content == "" and length > LONGEST_TEXT:
            raise self.refused(f"a text or list of {length} bytes at byte {at}")
        return after

    def number(self, at: int, end: int) -> tuple[int, int]:
        """A number of up to ten bytes of seven bits each, and where the next field begins."""
        value = 0
        for place in range(10):
            self.within(at + 1, end)
            byte = self.data[at]
            at += 1
            value |= (byte & 127) << (7 * place)
            if byte < 128:
                return value, at
        raise self.refused(f"a number at byte {at} does not end")

    def within(self, place: int, end: int) -> int:
        if place > end:
            raise self.refused("it is truncated")
        return place
