"""What every method learns is what it learned when `tests/fixtures/digests.json` was written.

Equal bits where the machine rounds as the one that wrote it, close values elsewhere. To record
them again: `NPROC=1 PYTHONPATH=src:tests python tests/digests.py`.
"""

from __future__ import annotations

import json
import logging
import re
from collections import Counter
from functools import cache

import jax
import numpy as np
import pytest

import digests
from digests import NAMES, Learned

RECORDED = json.loads(digests.FILE.read_text())
ALL = pytest.mark.parametrize("name", NAMES)
HERE = digests.numerics() == RECORDED["numerics"]


class Compilations(logging.Handler):
    """The names of the functions that JAX compiles, or loads, while this listens."""

    def __init__(self) -> None:
        super().__init__()
        self.names = list[str]()

    def emit(self, record: logging.LogRecord) -> None:
        if found := re.match(r"Compiling jit\((\w+)\)", record.getMessage()):
            self.names.append(found[1])

    def __enter__(self) -> Compilations:
        logging.getLogger("jax").addHandler(self)
        return self

    def __exit__(self, *error: object) -> None:
        logging.getLogger("jax").removeHandler(self)


@cache
def learned(name: str) -> tuple[Learned, Counter[str]]:
    """What a method learns, and how often each function was compiled for it."""
    with jax.log_compiles(), Compilations() as heard:
        found = digests.learn(name)
    return found, Counter(heard.names)


def close(one: list[float], other: list[float]) -> bool:
    return len(one) == len(other) and np.allclose(one, other, rtol=0.03, atol=3e-3)


@ALL
def test_a_method_learns_what_it_did_when_its_digest_was_recorded(name: str) -> None:
    wanted, (found, _) = Learned(**RECORDED["methods"][name]), learned(name)
    assert close(found.sketch, wanted.sketch)
    if HERE:
        assert found.digest == wanted.digest, f"record it again if that is meant: {__doc__}"


@ALL
def test_a_run_compiles_each_function_once(name: str) -> None:
    """An update without the actor is another one than with it."""
    _, compiled = learned(name)
    assert compiled["act"] == 1
    assert compiled["_update"] == digests.build(name).actor_delay


def test_every_recorded_method_is_still_tried() -> None:
    assert set(RECORDED["methods"]) == set(NAMES)


def test_a_different_method_is_noticed_on_any_machine() -> None:
    wanted = Learned(**RECORDED["methods"]["scratch"])
    found = digests.learn("scratch", learning_rate=3.3e-4)
    assert not close(found.sketch, wanted.sketch) and found.digest != wanted.digest


def test_equal_machines_have_equal_numerics() -> None:
    assert digests.numerics() == digests.numerics()
