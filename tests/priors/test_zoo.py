"""The shipped policies: what their tables say, and how zero-shot tables are made."""

from __future__ import annotations

import csv
import importlib
from pathlib import Path
from typing import Any

import pytest

from reprise.lab.make.metaworld import METAWORLD
from reprise.priors import load, shipped, zoo
from reprise.tasks.metaworld import TWELVE

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "results" / "zero_shot.csv"


def line_of(name: str) -> str:
    """A policy's row in the zoo's README, from its card."""
    folder = zoo() / name
    card = load(folder).card
    shares = sorted({f"{share:.0%}".replace("%", " %") for share in card.success.values()})
    size = (folder / "policy.safetensors").stat().st_size / 1000
    return f"| `zoo:{name}` | {card.task} | {', '.join(shares)} | {size:.0f} kB | {card.origin} |"


def test_the_readme_says_of_every_policy_what_its_card_says() -> None:
    lines = (zoo() / "README.md").read_text().splitlines()
    told = [line for line in lines if line.startswith("| `zoo:")]
    expected = [line_of(name) for name in shipped()]
    assert told == expected, "the table should be:\n" + "\n".join(expected)


def test_every_policy_that_can_be_built_is_shipped() -> None:
    assert {f"metaworld/{name}" for name in METAWORLD} == {
        name for name in shipped() if name.startswith("metaworld/")
    }


def test_no_shipped_policy_is_larger_than_500_kilobytes() -> None:
    for name in shipped():
        assert sum(file.stat().st_size for file in (zoo() / name).iterdir()) <= 500_000


# --- zero-shot tables ---


@pytest.fixture
def benchmark(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The script as a module."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    return importlib.import_module("zero_shot")


def made_up(measured: list[tuple[str, str]], stop: int | None = None) -> Any:
    """A measurement that only takes notes, and is interrupted after so many."""

    def zero_shot(priors: Any, task: Any, seed: int, episodes: int) -> list[dict[str, Any]]:
        measured.append((task.id, priors.names[0]))
        if len(measured) == stop:
            raise KeyboardInterrupt
        row = {"success_any": 0.5, "success_last": 0.0, "return_mean": 1.25}
        return [{"name": priors.names[0], **row}]

    return zero_shot


def plan(benchmark: Any, folder: Path, **more: Any) -> Any:
    files = {"out": folder / "found.csv", "page": folder / "page.md"}
    return benchmark.Options(**files, tasks="pointmaze", **more)


def test_a_measured_row_is_not_measured_again(
    benchmark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured: list[tuple[str, str]] = []
    monkeypatch.setattr(benchmark, "zero_shot", made_up(measured, stop=7))
    options = plan(benchmark, tmp_path, episodes=3)
    with pytest.raises(KeyboardInterrupt):
        benchmark.main(options)
    assert len(benchmark.read(options.out)) == 6
    interrupted = measured.pop()
    monkeypatch.setattr(benchmark, "zero_shot", made_up(measured))
    benchmark.main(options)
    assert measured[6] == interrupted and len(set(measured)) == len(measured)
    before = len(measured)
    benchmark.main(options)
    assert len(measured) == before
    benchmark.main(plan(benchmark, tmp_path, episodes=4))
    assert len(measured) == 2 * before, "other episodes are another measurement"
    assert len(benchmark.read(options.out)) == before


def test_another_policy_of_the_same_name_is_measured_again(
    benchmark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured: list[tuple[str, str]] = []
    monkeypatch.setattr(benchmark, "zero_shot", made_up(measured))
    options = plan(benchmark, tmp_path)
    benchmark.main(options)
    text, sha = options.out.read_text(), load(zoo() / "pointmaze" / "ne").card.sha256[:12]
    options.out.write_text(text.replace(sha, "0" * 12))
    measured.clear()
    benchmark.main(options)
    assert {name for _, name in measured} == {"ne"} and options.out.read_text() == text


def test_the_table_goes_into_its_place_on_the_page(
    benchmark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(benchmark, "zero_shot", made_up([]))
    options = plan(benchmark, tmp_path, priors=("zoo:pointmaze/sw", "zoo:pointmaze/ne"))
    page = "before\n<!-- pointmaze -->\nold\n<!-- end -->\n<!-- other -->\nx\n<!-- end -->\n"
    options.page.write_text(page)
    benchmark.main(options)
    first, second = "| task | `ne` | `sw` |", "| `two` | 50%, 1 | 50%, 1 |"
    text = options.page.read_text()
    assert first in text and second in text and "old" not in text
    assert text.startswith("before\n") and text.endswith("<!-- other -->\nx\n<!-- end -->\n")


def rows() -> list[dict[str, str]]:
    with RESULTS.open(newline="") as file:
        return list(csv.DictReader(file))


def test_every_prior_was_tried_on_each_of_the_twelve_tasks_as_it_is_shipped() -> None:
    found = {(row["task"], row["prior"]): row["sha256"] for row in rows()}
    cards = [load(zoo() / "metaworld" / name).card for name in METAWORLD]
    expected = {(f"metaworld/{t}", c.name): c.sha256[:12] for t in TWELVE for c in cards}
    assert expected.items() <= found.items()


def test_the_page_shows_the_measured_numbers(benchmark: Any) -> None:
    page = (ROOT / "docs" / "zero-shot.md").read_text()
    families = {row["task"].partition("/")[0] for row in rows()}
    for family in families:
        own = [row for row in rows() if row["task"].startswith(f"{family}/")]
        assert benchmark.table(own) in page, benchmark.table(own)
