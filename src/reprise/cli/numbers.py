"""Whole numbers on the command line, as people write them: 10000, 10_000 or 1e4."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from typing import Any

from tyro.constructors import ConstructorRegistry, PrimitiveConstructorSpec, PrimitiveTypeInfo

NUMBERS = ConstructorRegistry()
LARGEST = 10**18


def whole(text: str) -> int:
    """The whole number that a text stands for; a ValueError if it is none."""
    try:
        return int(text)
    except ValueError:
        pass
    try:
        value = Decimal(text)
    except InvalidOperation:
        raise ValueError(f"{text!r} is not a number") from None
    if not value.is_finite() or abs(value) > LARGEST or value != int(value):
        raise ValueError(f"{text!r} is not a whole number")
    return int(value)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


@NUMBERS.primitive_rule
def _rule(info: PrimitiveTypeInfo) -> PrimitiveConstructorSpec[int] | None:
    """How every option of type int is read."""
    if info.type is not int:
        return None
    return PrimitiveConstructorSpec(
        nargs=1,
        metavar="INT",
        instance_from_str=lambda words: whole(words[0]),
        is_instance=_is_whole,
        str_from_instance=lambda value: [str(value)],
    )
