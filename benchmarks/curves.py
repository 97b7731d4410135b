"""Learning curves of a suite, written with `--results`, as one picture.

python benchmarks/curves.py results/pointmaze/curves.csv docs/images/pointmaze.png
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib as mpl

mpl.use("agg")

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes

from reprise.pages.palette import run_colors


def panel(axes: Axes, curves: pd.DataFrame, task: str) -> None:
    """Every seed as a thin line, their mean as a thick one."""
    colors = run_colors([str(name) for name in curves["label"]])
    for method, runs in curves.groupby("label", sort=False):
        table = runs.pivot_table(index="step", columns="seed", values="success_any")
        color = colors[str(method)]
        axes.plot(table.index, table, color=color, alpha=0.25, linewidth=1.0)
        label = f"{method}, mean of {table.shape[1]} seeds"
        axes.plot(table.index, table.mean(axis=1), color=color, linewidth=2.5, label=label)
    axes.set(title=task, xlabel="training step", ylim=(-0.03, 1.03))
    axes.yaxis.set_major_formatter(mpl.ticker.PercentFormatter(1.0))
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.3)


def main(source: Path, out: Path) -> None:
    curves = pd.read_csv(source).sort_values(["task", "label"], ascending=[True, False])
    tasks = list(dict.fromkeys(curves["task"]))
    figure, axes = plt.subplots(
        1, len(tasks), figsize=(4.6 * len(tasks), 3.4), sharey=True, layout="constrained"
    )
    for one, task in zip(axes, tasks, strict=True):
        panel(one, curves[curves["task"] == task], task)
    axes[0].set_ylabel("success of the task policy")
    axes[0].legend(frameon=False, loc="center right")
    figure.savefig(out, dpi=130)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
