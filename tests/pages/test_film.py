"""Films of episodes: a drawn maze, a simulator's own pictures, and neither."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from PIL import Image

from reprise.boundary.errors import UserError
from reprise.pages import film
from reprise.tasks import find
from toys import line


def push_right(obs: np.ndarray) -> np.ndarray:
    return np.tile(np.float32([1.0, 0.0]), (len(obs), 1))


def test_a_maze_film_shows_every_episode_and_moves(tmp_path: Path) -> None:
    task = replace(find("pointmaze/u"), horizon=40)
    path = film.write(tmp_path / "video.gif", push_right, task, [1, 2])
    with Image.open(path) as video:
        assert video.size[0] == film.WIDTH
        frames = []
        for number in range(video.n_frames):
            video.seek(number)
            frames.append(np.asarray(video.convert("RGB"), np.int16))
    assert len(frames) >= 20
    assert np.abs(frames[0] - frames[10]).max() > 100, "the ball has moved"


def test_the_drawn_body_stands_where_the_body_is() -> None:
    task = find("pointmaze/u")
    assert task.picture is not None
    image = np.asarray(film.maze(task.picture, [(0.0, 1.0), (0.0, 0.0)]))
    middle = image[image.shape[0] // 2, image.shape[1] // 2]
    assert middle.max() < 80, "an ink dot in the middle of the map"


class Drawn(gym.Wrapper[Any, Any, Any, Any]):
    def render(self) -> Any:
        return np.full((8, 8, 3), 200, np.uint8)


def test_a_simulator_that_draws_itself_is_filmed_as_it_draws(tmp_path: Path) -> None:
    plain = line(6)
    task = replace(plain, film=lambda: Drawn(plain.make()))
    act = lambda obs: np.zeros((len(obs), 1), np.float32)  # noqa: E731
    with Image.open(film.write(tmp_path / "video.gif", act, task, [0])) as video:
        assert video.size == (8, 8)
        assert np.asarray(video.convert("RGB")).mean() == pytest.approx(200, abs=2)


def test_a_task_without_a_renderer_says_so(tmp_path: Path) -> None:
    act = lambda obs: np.zeros((len(obs), 1), np.float32)  # noqa: E731
    with pytest.raises(UserError, match="cannot be filmed"):
        film.write(tmp_path / "video.gif", act, line(6), [0])
    blind = replace(line(6), film=line(6).make)
    with pytest.raises(UserError, match="cannot be drawn here"):
        film.write(tmp_path / "video.gif", act, blind, [0])
    assert not (tmp_path / "video.gif").exists()
