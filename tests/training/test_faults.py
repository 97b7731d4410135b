"""What an environment must not do to a run."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

from reprise.boundary.errors import EnvironmentFault, UserError
from reprise.core.method import Method
from reprise.tasks import Task
from reprise.training.loop import Training, train
from toys import BRISK, Line, small


class Broken(Line):
    """A line that returns nonsense at its 77th step."""

    def __init__(self, field: str, value: float):
        super().__init__()
        self.field, self.value, self.steps = field, value, 0

    def step(self, action: np.ndarray) -> Any:
        obs, reward, *rest = super().step(action)
        self.steps += 1
        if self.steps == 77:
            if self.field == "reward":
                reward = self.value
            else:
                obs[1] = self.value
        return obs, reward, *rest


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize(
    ("field", "named"), [("reward", "reward is"), ("obs", "observation[1] is")]
)
def test_a_non_finite_number_stops_the_run_at_its_step_and_is_never_stored(
    field: str, named: str, value: float
) -> None:
    task = Task("toy/broken", 30, partial(Broken, field, value))
    training = Training(small(Method()), task, steps=200, schedule=BRISK)
    with pytest.raises(EnvironmentFault) as caught, training:
        list(training.reports())
    message = str(caught.value)
    assert named in message
    assert message.startswith("toy/broken: ")
    assert message.endswith("training step 77")
    rows = training.loop.replay.rows(0, 76)
    assert training.loop.replay.added == 76
    assert np.isfinite(rows.reward).all()
    assert np.isfinite(rows.next_obs).all()


def test_a_loss_that_explodes_stops_the_run_with_its_name() -> None:
    task = Task("toy/huge", 30, partial(Line, reward=1e38))
    with pytest.raises(UserError, match=r"critic_loss became (inf|nan) at step \d+"):
        list(train(small(Method()), task, steps=200, schedule=BRISK))
