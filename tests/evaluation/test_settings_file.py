"""Settings from a YAML file and from single fields."""

import re
from dataclasses import fields
from pathlib import Path

import pytest

from prefrag.evaluation.pipeline_under_test.experiment import Evaluation
from prefrag.evaluation.settings_file import make_settings, read_fields, split_changes, write_settings
from tests.for_each import for_each

GUIDE = Path(__file__).parents[2] / "docs" / "evaluation.md"


def test_what_is_written_is_read_again(tmp_path: Path):
    settings = Evaluation(corpus=Path("c.jsonl"), changes=("local.top_k=3",), llm="simulated", memory=0.1)
    file = tmp_path / "experiment.yaml"
    file.write_text(write_settings(settings))

    assert make_settings(Evaluation, read_fields(Evaluation, file)) == settings
    changed = make_settings(Evaluation, read_fields(Evaluation, file, ["memory=0", "limit=2"]))
    assert (changed.memory, changed.limit, changed.llm) == (0.0, 2, "simulated")


def test_a_setting_with_a_path_or_a_part_is_one_of_the_pipeline():
    changes = ["seed=3", "local.observed_last=true", "local=@prefrag_linked", "corpus=a.b.jsonl"]

    assert split_changes(changes) == (
        ["seed=3", "corpus=a.b.jsonl"],
        ("local.observed_last=true", "local=@prefrag_linked"),
    )


@for_each(
    "text, message",
    ("sed: 3", "no setting 'sed': the nearest is seed"),
    ("- seed", "is not a list of settings: write one 'name: value' per line"),
    ("seed: [", "is not YAML"),
    ("limit: many", "limit is 'many'"),
    ("limit: 0", "limit must be at least 1"),
    ("llm: gpt", "llm is 'gpt'"),
)
def test_what_is_no_experiment_is_refused_in_a_sentence(tmp_path: Path, text: str, message: str):
    file = tmp_path / "experiment.yaml"
    file.write_text(text)

    with pytest.raises(ValueError, match=re.escape(message)):
        make_settings(Evaluation, read_fields(Evaluation, file))


def test_the_guide_names_every_field_of_an_experiment():
    named = set(re.findall(r"`(\w+)`", GUIDE.read_text(encoding="utf-8")))

    assert {field.name for field in fields(Evaluation)} - named == set()
