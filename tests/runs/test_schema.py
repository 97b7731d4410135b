"""The tables of a run folder are declared once, written so, read so and documented so."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from reprise.findings.tables import each, load, policies, usage
from reprise.runs import schema
from reprise.training.evaluate import Evaluation
from reprise.training.value_accuracy import Compared

ROOT = Path(__file__).parents[2]
POLICIES = ("task", "reach", "use_task")


def documented() -> str:
    """What docs/usage.md has to say: a heading and a table of columns for every file."""
    parts: list[str] = []
    for table in schema.TABLES:
        parts += [
            f"`{table.file}`: one row is {table.row}.",
            "",
            "| column | meaning |",
            "|---|---|",
        ]
        parts += [f"| `{column.pattern}` | {column.meaning} |" for column in table.columns]
        parts += [""]
    return "\n".join(parts)


def test_the_docs_list_every_column_of_every_file() -> None:
    text = (ROOT / "docs" / "usage.md").read_text()
    assert documented() in text, f"docs/usage.md must contain:\n{documented()}"


def test_headers_are_the_ones_that_files_have() -> None:
    assert schema.METRICS.header(POLICIES, ("falls",))[9:] == [
        "use_task", "use_reach", "use_use_task", "value_task", "value_reach", "value_use_task",
        "falls",
    ]  # fmt: skip
    assert schema.SWITCHES.header(("task",)) == [
        "step", "episode", "t", "from", "to", "score_task", "bonus_task"
    ]  # fmt: skip
    with pytest.raises(KeyError):
        schema.METRICS.of("success", POLICIES)


def test_what_is_measured_has_a_column() -> None:
    assert schema.EVAL.single == ("step", *Evaluation._fields)
    assert schema.VALUES.single == Compared._fields


def test_a_policy_may_have_a_name_that_looks_like_a_column(tmp_path: Path) -> None:
    """Names come from the recipe: nobody guesses them from headers."""
    (tmp_path / "run.json").write_text('{"priors": [{"name": "reach"}, {"name": "use_task"}]}')
    lines = [
        "step," + ",".join(schema.METRICS.of("use", POLICIES)) + ",use_nobody",
        "100,0.5,0.2,0.3,9",
    ]
    (tmp_path / "metrics.csv").write_text("\n".join([*lines, ""]))
    run = load(tmp_path)
    assert policies(run) == list(POLICIES)
    assert each(run, schema.METRICS, "use").tolist() == [[0.5, 0.2, 0.3]]
    assert usage(run).tolist() == [pytest.approx([50.0, 20.0, 30.0])]
    assert np.isnan(each(run, schema.METRICS, "value")).all(), "a column that is not there yet"
