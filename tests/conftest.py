"""One thread, so that the same seed gives the same bits; silent broadcasting is an error."""

from __future__ import annotations

import os

os.environ["NPROC"] = "1"

import jax

jax.config.update("jax_numpy_rank_promotion", "raise")
