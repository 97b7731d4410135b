"""One color per policy, the same in every figure and safe for color-blind readers."""

from __future__ import annotations

from collections.abc import Sequence

TASK = "#0072B2"
RANDOM = "#B8B8B8"
OTHERS = "#5F5F5F"
INK = "#222222"
ALARM = "#D55E00"
# Okabe and Ito's colors without the blue of the task policy; yellow last, it is faint on white.
PRIORS = ("#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442")
# Runs that are laid over each other: the first is the blue of the one policy that is evaluated.
RUNS = (TASK, INK, "#AA4499", "#117733", "#999933", "#882255", "#44AA99", "#DDCC77")
OTHER_PRIORS = "other priors"


def colors(names: Sequence[str]) -> dict[str, str]:
    """A color for each policy, by the order of the names; beyond six priors come new shades."""
    fixed = {"task": TASK, "random": RANDOM, OTHER_PRIORS: OTHERS}
    priors = [name for name in dict.fromkeys(names) if name not in fixed]
    return fixed | {name: _shade(place) for place, name in enumerate(priors)}


def run_colors(names: Sequence[str]) -> dict[str, str]:
    """A color for each run name; runs that differ only in their seed share it."""
    known = (*RUNS, *PRIORS)
    return {name: known[i % len(known)] for i, name in enumerate(dict.fromkeys(names))}


def _shade(place: int) -> str:
    """The hue by turns; every full turn goes one step darker or one step lighter, alternately."""
    turn, hue = divmod(place, len(PRIORS))
    toward = 0.0 if turn % 2 else 255.0
    depth = (turn + 1) // 2
    amount = depth / (depth + 2.0)
    base = PRIORS[hue].removeprefix("#")
    channels = (int(base[i : i + 2], 16) for i in (0, 2, 4))
    mixed = (round(channel + (toward - channel) * amount) for channel in channels)
    return "#" + "".join(f"{channel:02X}" for channel in mixed)
