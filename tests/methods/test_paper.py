"""The documents say what the code does."""

from __future__ import annotations

import re
import runpy
from dataclasses import replace
from pathlib import Path
from pkgutil import resolve_name

import pytest

from reprise.core.critic import HybridCritic
from reprise.core.planner import ValueGuided
from reprise.methods import ABLATIONS, METHODS, prepare
from reprise.tasks import Task
from reprise.tasks.pointmaze import MAPS
from reprise.training.loop import train
from toys import line, priors, reporting, small

ROOT = Path(__file__).parents[2]
TABLE = re.findall(r"\| `(reprise\.[\w.]+)` \|", (ROOT / "docs/paper-to-code.md").read_text())


@pytest.mark.parametrize("symbol", TABLE)
def test_every_row_of_paper_to_code_names_something_that_exists(symbol: str) -> None:
    assert resolve_name(symbol)


def test_the_table_covers_the_three_equations() -> None:
    text = (ROOT / "docs/paper-to-code.md").read_text()
    assert len(TABLE) >= 10
    assert all(f"Eq. ({n})" in text for n in (1, 2, 3))


def test_the_paper_preset_is_the_papers_table() -> None:
    meta_world = Task("metaworld/some", 500, lambda: None, c=10.0)  # type: ignore[arg-type, return-value]
    method, schedule, steps = prepare("smec", meta_world, "paper")
    assert method.critic.hidden == method.actor.hidden == (400, 400, 400)
    assert (method.learning_rate, schedule.batch) == (3e-4, 128)
    assert (method.smoothing, method.actor_delay) == (5e-3, 2)
    assert (schedule.warmup, schedule.capacity, steps) == (50_000, 1_000_000, 1_000_000)
    assert isinstance(method.critic, HybridCritic)
    assert isinstance(method.planner, ValueGuided)
    assert (method.critic.horizon, method.critic.epsilon, method.critic.discount) == (
        50,
        1e-4,
        0.99,
    )
    assert (method.planner.commit, method.planner.ucb) == (50, 10.0)
    assert not method.critic.layer_norm
    assert not method.critic.entropy_backup


def test_every_method_shares_the_networks_and_settings_of_a_preset() -> None:
    task = Task("some/task", 500, lambda: None)  # type: ignore[arg-type, return-value]
    for preset in ("small", "paper"):
        setups = [prepare(name, task, preset) for name in METHODS | ABLATIONS]
        shared = {
            (m.critic.hidden, m.critic.layer_norm, m.actor.hidden, m.learning_rate, s, n)
            for m, s, n in setups
        }
        assert len(shared) == 1


def test_the_table_of_methods_in_the_readme_is_the_table_in_the_code() -> None:
    for page in ("README.md", "docs/three-choices.md", "docs/methods.md"):
        rows = re.findall(r"^\| \**`([\w/-]+)`\** \|(.*)$", (ROOT / page).read_text(), re.MULTILINE)
        # The first table of a page; others may follow about other things.
        found = {name: re.findall(r"`(\w+)", rest) for name, rest in reversed(rows)}
        for name, row in (METHODS | ABLATIONS).items():
            method = row.build(50, 10.0)
            parts = (method.critic, method.actor, method.planner)
            assert found[name] == [type(part).__name__ for part in parts], (page, name)


def test_every_method_has_a_section_with_an_equation_and_how_it_differs() -> None:
    text = (ROOT / "docs/methods.md").read_text()
    titles = {name: f"\n### `{name}`\n" for name in ABLATIONS}
    titles |= {name: f"\n## {name}\n" for name in METHODS}
    lower = text.lower()
    for name, title in titles.items():
        assert lower.count(title) == 1, name
        section = re.split(r"\n##", lower.split(title)[1])[0]
        about, equation = section.split("```")[:2]
        assert len(about.split()) > 5 and re.search(r"[=~]", equation), name
        assert name in ABLATIONS or "against the original:" in section, name
    assert all(f"{h}" in text for h in ("{H/50, H/20, H/10, H/5}", "{1, 5, 20, 50}"))


def test_the_new_method_of_the_docs_can_be_trained(tmp_path: Path) -> None:
    text = (ROOT / "docs/three-choices.md").read_text()
    (block,) = re.findall(r"```python\n(# src/reprise/methods/.*?)```", text, re.DOTALL)
    (tmp_path / "handover.py").write_text(block)
    module = runpy.run_path(str(tmp_path / "handover.py"))
    method = small(replace(module["handover"](10, 1.0), planner=module["Handover"](after=6)))
    schedule = reporting(40, warmup=0, learning_starts=1_000)
    *_, last = train(method, line(20), priors(2), steps=40, schedule=schedule)
    rows = last.loop.replay.rows(0, 40).source.reshape(2, 20)
    assert (rows[:, :6] == 0).all() and (rows[:, 6:] > 0).all()


def test_the_docs_say_for_each_maze_what_each_prior_achieves_alone() -> None:
    text = (ROOT / "docs/results.md").read_text()
    assert all(f"`{name}`" in text for name in MAPS)
