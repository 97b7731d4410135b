"""Small vectors, quickly: the arithmetic of Meta-World's rewards without NumPy's questions.

Each function gives the same bits as the one it stands for; where it cannot, it calls that one.
"""

from __future__ import annotations

from functools import cache
from math import sqrt
from types import SimpleNamespace
from typing import Any

import numpy as np
from metaworld.utils import reward_utils
from scipy.spatial.transform import Rotation

AT_MARGIN = 0.1
LONG_TAIL = float(np.sqrt(1 / AT_MARGIN - 1))
GAUSSIAN = float(np.sqrt(-2 * np.log(AT_MARGIN)))
SKEW = 1e-13
"""Rows less orthogonal than this are left to scipy, which would straighten them."""


def norm(x: Any, ord: Any = None) -> Any:
    """np.linalg.norm."""
    if ord in (None, 2):
        if type(x) is np.ndarray and x.ndim == 1 and x.dtype == np.float64:
            if x.flags.c_contiguous:
                return np.float64(sqrt(x.dot(x)))
        elif type(x) is np.float64:
            return np.float64(sqrt(x * x))
    return np.linalg.norm(x, ord)


def hstack(parts: Any) -> np.ndarray:
    """np.hstack."""
    if all(type(part) is np.ndarray and part.ndim == 1 for part in parts):
        return np.concatenate(parts)
    if all(type(part) is np.float64 for part in parts):
        return np.array(parts)
    return np.hstack(parts)


def clip(x: np.ndarray, low: Any, high: Any, out: np.ndarray | None = None) -> np.ndarray:
    """np.clip."""
    return np.minimum(np.maximum(x, low), high, out=out)


def tolerance(
    x: Any,
    bounds: tuple[float, float] = (0.0, 0.0),
    margin: Any = 0.0,
    sigmoid: Any = "gaussian",
    value_at_margin: float = AT_MARGIN,
) -> Any:
    """Meta-World's tolerance: 1 within the bounds, less the farther outside."""
    lower, upper = bounds
    usual = value_at_margin == AT_MARGIN and isinstance(x, float)
    known = sigmoid == "long_tail" or sigmoid == "gaussian"
    if not usual or not known or lower > upper or not margin > 0:
        return reward_utils.tolerance(x, bounds, margin, sigmoid, value_at_margin)
    number = float(x)
    if lower <= number <= upper:
        return 1.0
    outside = (lower - number if number < lower else number - upper) / float(margin)
    if sigmoid == "gaussian":
        return float(np.exp(-0.5 * (outside * GAUSSIAN) ** 2))
    return 1 / ((outside * LONG_TAIL) ** 2 + 1)


@cache
def rotation() -> Any:
    """What `Rotation` is for Meta-World: ours if it gives scipy's bits on this machine."""
    draws = np.random.default_rng(0).normal(size=(200, 4))
    matrices = Rotation.from_quat(draws).as_matrix()
    same = [quaternion(m).tobytes() == _by_scipy(m).tobytes() for m in matrices]
    ours = SimpleNamespace(from_matrix=lambda m: SimpleNamespace(as_quat=lambda: quaternion(m)))
    return ours if all(same) else Rotation


def quaternion(matrix: np.ndarray) -> np.ndarray:
    """The quaternion (x, y, z, w) of a rotation matrix by Markley's method, which is scipy's."""
    (a, b, c), (d, e, f), (g, h, i) = matrix.tolist()
    products = (a * d + b * e + c * f, a * g + b * h + c * i, d * g + e * h + f * i)
    if not max(map(abs, products)) < SKEW:
        return _by_scipy(matrix)
    trace = a + e + i
    largest = max(a, e, i, trace)
    if largest == a:
        x, y, z, w = 1 - trace + 2 * a, d + b, g + c, h - f
    elif largest == e:
        x, y, z, w = d + b, 1 - trace + 2 * e, h + f, c - g
    elif largest == i:
        x, y, z, w = g + c, h + f, 1 - trace + 2 * i, d - b
    else:
        x, y, z, w = h - f, c - g, d - b, 1 + trace
    length = sqrt(x * x + y * y + z * z + w * w)
    return np.array([x / length, y / length, z / length, w / length])


def _by_scipy(matrix: np.ndarray) -> np.ndarray:
    return Rotation.from_matrix(matrix).as_quat()
