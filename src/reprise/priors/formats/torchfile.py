"""A PyTorch state dict on disk: an archive of raw numbers and the instructions that name them."""

from __future__ import annotations

from itertools import accumulate
from math import prod

import numpy as np

from reprise.boundary.errors import PolicyFileError
from reprise.priors.formats.archive import Archive
from reprise.priors.formats.statecode import Tensor, follow

CODE = "data.pkl"
LARGEST_CODE = 2**18


class StateDict:
    """The named float32 arrays of a state dict, each read when it is asked for."""

    def __init__(self, data: bytes, origin: str) -> None:
        self.origin = origin
        self._archive = Archive(data, origin)
        found = [name for name in self._archive.names if name.endswith(f"/{CODE}")]
        if len(found) != 1:
            raise PolicyFileError(f"{origin} is not a PyTorch file: it has {len(found)} {CODE}")
        self._root = found[0].removesuffix(CODE)
        order = f"{self._root}byteorder"
        if order in self._archive.names and self._archive.read(order, 10) != b"little":
            raise PolicyFileError(f"{origin}: its numbers are not little-endian")
        self._tensors = follow(self._archive.read(found[0], LARGEST_CODE), origin)

    @property
    def names(self) -> list[str]:
        """Every tensor, in the order of the file."""
        return list(self._tensors)

    def array(self, name: str, rank: int) -> np.ndarray:
        """A tensor of this many axes with finite numbers."""
        tensor = self._tensors.get(name)
        if tensor is None:
            raise PolicyFileError(f"{self.origin} lacks {name}")
        if len(tensor.shape) != rank or 0 in tensor.shape or not _in_one_piece(tensor):
            shape = f"{tensor.shape!r:.80}"
            raise PolicyFileError(f"{self.origin}: {name} of shape {shape} is not laid out plainly")
        room = 4 * tensor.storage.size
        data = self._archive.read(f"{self._root}data/{tensor.storage.key}", room)
        last = tensor.offset + prod(tensor.shape)
        if len(data) != room or last > tensor.storage.size:
            raise PolicyFileError(f"{self.origin}: {name} reaches beyond its numbers")
        array = np.frombuffer(data, "<f4")[tensor.offset : last].reshape(tensor.shape)
        if not np.isfinite(array).all():
            raise PolicyFileError(f"{self.origin}: {name} holds non-finite weights")
        return array.astype(np.float32)


def _in_one_piece(tensor: Tensor) -> bool:
    """Whether the last axis varies fastest and nothing is skipped or shown twice."""
    plain = list(accumulate(tensor.shape[:0:-1], lambda a, b: a * b, initial=1))[::-1]
    axes = zip(tensor.shape, tensor.stride, plain, strict=False)
    fits = len(tensor.stride) == len(tensor.shape)
    return fits and all(stride == step for size, stride, step in axes if size > 1)
