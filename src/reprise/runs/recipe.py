"""Recipes as JSON: a run and everything in it, encoded and decoded by an allow-list."""

from __future__ import annotations

import json
import types
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from pathlib import Path
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from reprise.boundary import files
from reprise.boundary.errors import UserError, require, unknown
from reprise.boundary.plugins import installed
from reprise.core.method import Method
from reprise.priors import PriorRecord, Priors, resolve
from reprise.training.schedule import Schedule

SCHEMA = 1
T = TypeVar("T")


@dataclass(frozen=True)
class Run:
    """The whole recipe of a run: enough to run it again."""

    name: str
    method: Method
    task: str
    priors: tuple[PriorRecord, ...] = ()
    seed: int = 0
    steps: int = 60_000
    preset: str = "small"
    schedule: Schedule = field(default_factory=Schedule)

    def __post_init__(self) -> None:
        require(self, "positive", "steps")
        require(self, "at least 0", "seed")

    @property
    def id(self) -> str:
        """The first 12 digits of the SHA-256 of the recipe, as far as it is not the default.

        So a field that is added later changes no recipe that does without it.
        """
        text = json.dumps(encode(self, brief=True), sort_keys=True)
        return files.sha256(text.encode())[:12]

    @property
    def policies(self) -> tuple[str, ...]:
        """Every policy by name, the task policy first."""
        return ("task", *(prior.name for prior in self.priors))


def encode(value: Any, brief: bool = False) -> Any:
    """JSON for a tree of dataclasses; each says its class under `kind`.

    A brief one leaves out the fields that have their default.
    """
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return {name: encode(item, brief) for name, item in value._asdict().items()}  # pyright: ignore
    if is_dataclass(value):
        told = [f for f in fields(value) if not (brief and getattr(value, f.name) == _default(f))]
        record = {f.name: encode(getattr(value, f.name), brief) for f in told}
        return {"kind": type(value).__name__, **record}
    if isinstance(value, tuple | list):
        return [encode(item, brief) for item in value]  # pyright: ignore
    return value


def _default(known: Any) -> Any:
    """A field's default; MISSING, which equals nothing, if it has none."""
    return known.default if known.default_factory is MISSING else known.default_factory()


def decode(kind: type[T], record: Any, where: str = "recipe") -> T:
    """The value of type `kind` that a record describes; unknown names are errors."""
    origin = get_origin(kind)
    if origin in (Union, types.UnionType):
        return _optional(kind, record, where)
    if origin is tuple:
        item, *_ = get_args(kind)
        if not isinstance(record, list):
            raise _mismatch(where, record, "a list")
        return tuple(decode(item, x, f"{where}[{i}]") for i, x in enumerate(record))  # pyright: ignore
    if kind not in (bool, int, float, str):
        return _object(kind, record, where)
    allowed = (int, float) if kind is float else (kind,)
    if isinstance(record, bool) != (kind is bool) or not isinstance(record, allowed):
        raise _mismatch(where, record, kind.__name__)
    return kind(record)  # pyright: ignore


def _optional(kind: Any, record: Any, where: str) -> Any:
    if record is None:
        return None
    inner = next(arg for arg in get_args(kind) if arg is not type(None))
    return decode(inner, record, where)


def _object(kind: type[T], record: Any, where: str) -> T:
    """A dataclass or named tuple; an abstract one says which of its subclasses it is."""
    if not isinstance(record, dict):
        raise _mismatch(where, record, kind.__name__)
    cls = _class(kind, record.get("kind", kind.__name__), where)
    hints = get_type_hints(cls)
    known = _field_names(cls)
    given: dict[str, Any] = {key: value for key, value in record.items() if key != "kind"}  # pyright: ignore
    for name in given:
        if name not in known:
            raise unknown(f"field in {where}", name, known)
    if missing := [name for name, required in known.items() if required and name not in given]:
        raise UserError(f"{where} lacks {', '.join(missing)}")
    return cls(**{n: decode(hints[n], v, f"{where}.{n}") for n, v in given.items()})  # pyright: ignore


def _class(kind: Any, named: Any, where: str) -> Any:
    """The one class of that name; plugins are loaded because they are installed, not named."""
    if not (found := _called(kind, named)):
        installed()
        found = _called(kind, named)
    if not found:
        known = (cls.__name__ for cls in (kind, *_family(kind)))
        raise unknown(f"kind in {where}", str(named), known)
    if len(found) > 1:
        homes = " and ".join(cls.__module__ for cls in found)
        raise UserError(f"kind {named!r} in {where} is a class of {homes}; rename one of them")
    return found[0]


def _called(kind: Any, name: Any) -> list[Any]:
    return [cls for cls in dict.fromkeys((kind, *_family(kind))) if cls.__name__ == name]


def _field_names(cls: Any) -> dict[str, bool]:
    """Each field, and whether it must be given."""
    if hasattr(cls, "_fields"):
        return {name: name not in cls._field_defaults for name in cls._fields}
    blank = MISSING
    return {f.name: f.default is blank and f.default_factory is blank for f in fields(cls)}


def _family(kind: Any) -> list[Any]:
    """Every subclass that exists in this process: the allow-list for `kind`."""
    found: list[Any] = []
    for child in kind.__subclasses__():
        found += [child, *_family(child)]
    return found


def _mismatch(where: str, record: Any, wanted: str) -> UserError:
    return UserError(f"{where} is {record!r:.60}, expected {wanted}")


def load(path: Path) -> Run:
    """The run in a `run.json`."""
    record = files.read_json(path)
    if record.pop("schema", None) != SCHEMA:
        raise UserError(f"{path} is not a recipe of schema {SCHEMA}")
    record.pop("id", None)
    return decode(Run, record, str(path))


def library(run: Run, *, trust_code: bool = False) -> Priors:
    """The recipe's priors, which must still be the same files."""
    refs = list(dict.fromkeys(prior.ref for prior in run.priors))
    priors = resolve(refs, task=run.task, trust_code=trust_code)
    if priors.records != run.priors:
        changed = next((p.name for p in run.priors if p not in priors.records), "one more")
        raise UserError(f"priors {', '.join(refs)} are no longer the recipe's: {changed!r} differs")
    return priors


def dump(run: Run) -> dict[str, Any]:
    """The record of a `run.json`."""
    return {"schema": SCHEMA, "id": run.id, **encode(run)}
