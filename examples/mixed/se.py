"""A hand-written controller: push toward the south-east corner, brake by the speed."""

import numpy as np

CORNER = np.array([2.0, -2.0])


def policy():
    """What `--trust-code` runs: a function from observations (x, y, vx, vy) to pushes."""

    def push(obs):
        return np.clip(2.0 * (CORNER - obs[:, :2]) - 0.5 * obs[:, 2:], -1.0, 1.0)

    push.obs_dim, push.action_dim = 4, 2
    return push
