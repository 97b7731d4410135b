"""Pytrees as named arrays in safetensors: strict names, shapes and types, nothing executable."""

from __future__ import annotations

from typing import Any, TypeVar

import jax
import numpy as np
from jax.tree_util import keystr, tree_flatten_with_path
from safetensors import SafetensorError
from safetensors.numpy import load, save

from reprise.boundary.errors import CheckpointError

Tree = TypeVar("Tree")
Arrays = dict[str, np.ndarray]


def named(tree: Any) -> Arrays:
    """Every leaf under its path, such as `actor.body.layers.0.weight`."""
    pairs, _ = tree_flatten_with_path(tree)
    return {keystr(path, simple=True, separator="."): np.asarray(leaf) for path, leaf in pairs}


def pack(arrays: Arrays) -> bytes:
    """The bytes of a safetensors file."""
    # Not np.ascontiguousarray, which would turn a scalar into an array of one.
    return save({name: np.require(array, requirements="C") for name, array in arrays.items()})


def unpack(data: bytes, origin: str) -> Arrays:
    """The arrays in the bytes of a safetensors file."""
    try:
        return load(data)
    except (SafetensorError, ValueError, KeyError) as error:
        raise CheckpointError(f"{origin} is not a safetensors file: {error}") from error


def fill(like: Tree, arrays: Arrays, origin: str) -> Tree:
    """A tree shaped like `like` with these arrays as its leaves; any difference is an error."""
    wanted = named(like)
    if problems := _differences(wanted, arrays):
        listing = "; ".join(problems[:5])
        raise CheckpointError(f"{origin} does not fit: {listing}. Was it saved by another method?")
    return jax.tree.unflatten(jax.tree.structure(like), [arrays[name] for name in wanted])


def _differences(wanted: Arrays, found: Arrays) -> list[str]:
    problems = [f"lacks {name}" for name in wanted if name not in found]
    problems += [f"has an unknown {name}" for name in found if name not in wanted]
    for name in wanted.keys() & found.keys():
        mine, theirs = wanted[name], found[name]
        if mine.shape != theirs.shape or mine.dtype != theirs.dtype:
            ours, other = f"{mine.dtype}{mine.shape}", f"{theirs.dtype}{theirs.shape}"
            problems.append(f"{name} is {other}, expected {ours}")
    return problems
