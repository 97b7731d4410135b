"""A short film of some episodes: what the simulator draws, or the path through a drawn maze."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

from reprise.boundary import files
from reprise.boundary.errors import UserError
from reprise.pages.palette import INK, TASK
from reprise.tasks import Arena, Picture, Task
from reprise.training.evaluate import Act

MILLISECONDS = 40
"""Between two frames."""
WIDTH = 360
FINER = 2
"""Drawn this much larger and shrunk, so that edges are smooth."""
PAUSE = 15
"""Times the last frame of an episode is shown."""
WALL, GOAL = "#D3D7DB", "#009E73"


def write(path: Path, act: Act, task: Task, seeds: Sequence[int]) -> Path:
    """One animated GIF of one episode per seed."""
    frames = [frame for seed in seeds for frame in episode(act, task, seed)]
    memory = io.BytesIO()
    frames[0].save(
        memory, "GIF", save_all=True, append_images=frames[1:], duration=MILLISECONDS, loop=0
    )
    files.write_bytes(path, memory.getvalue())
    return path


def episode(act: Act, task: Task, seed: int) -> list[Image.Image]:
    """Every second step of an episode; its end is held for a moment."""
    arena = task.open(film=task.picture is None)
    frames: list[Image.Image] = []
    track: list[tuple[float, float]] = []
    try:
        obs, over, clock = arena.reset(seed), False, 0
        while not over:
            if task.picture and (where := arena.position):
                track.append(where)
            if clock % 2 == 0:
                frames.append(maze(task.picture, track) if task.picture else _shot(arena))
            step = arena.step(act(obs[None])[0])
            obs, over, clock = step.obs, step.terminated or step.truncated, clock + 1
    finally:
        arena.close()
    return frames + frames[-1:] * PAUSE


def _shot(arena: Arena) -> Image.Image:
    """What the simulator itself draws."""
    try:
        return Image.fromarray(np.asarray(arena.render(), np.uint8))
    except Exception as error:  # whatever a renderer without a screen comes up with
        reason = str(error).partition("\n")[0]
        raise UserError(f"task {arena.name!r} cannot be drawn here: {reason}") from error


def maze(picture: Picture, track: Sequence[tuple[float, float]]) -> Image.Image:
    """Walls, start, goal, the path so far and where the body is."""
    corners = np.asarray(picture.walls).reshape(-1, 2)
    low, high = corners.min(axis=0), corners.max(axis=0)
    scale = FINER * WIDTH / float(high[0] - low[0])
    size = [round(float(side) * scale) for side in high - low]

    def at(x: float, y: float) -> tuple[float, float]:
        return (x - float(low[0])) * scale, (float(high[1]) - y) * scale

    image = Image.new("RGB", (size[0], size[1]), "white")
    draw = ImageDraw.Draw(image)
    for x0, y0, x1, y1 in picture.walls:
        draw.rectangle([at(x0, y1), at(x1, y0)], fill=WALL)
    _dot(draw, at(*picture.goal), 0.3 * scale, GOAL)
    draw.line([at(*place) for place in track], fill=TASK, width=max(2, round(0.05 * scale)))
    _dot(draw, at(*track[-1]), 0.12 * scale, INK)
    return image.resize((size[0] // FINER, size[1] // FINER), Image.Resampling.LANCZOS)


def _dot(draw: ImageDraw.ImageDraw, at: tuple[float, float], radius: float, color: str) -> None:
    x, y = at
    draw.ellipse([x - radius, y - radius, x + radius, y + radius], fill=color)
