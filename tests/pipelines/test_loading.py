"""Finding and loading pipelines."""

import json
from pathlib import Path

import pytest
import yaml

from prefrag.pipelines import load, names
from tests.for_each import for_each


def test_variables_of_the_environment_are_put_in(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PREFRAG_ELASTICSEARCH_URL", "http://search.example:9200")

    local = load("prefrag_elasticsearch").to_dict()["components"]["local"]["init_parameters"]

    store = local["retriever"]["init_parameters"]["document_store"]["init_parameters"]
    assert (store["hosts"], store["index"]) == ("http://search.example:9200", "default")


@for_each("name", *([name for name in names() if "elasticsearch" in name]))
def test_the_name_of_an_index_stays_a_text(name: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PREFRAG_INDEX", "007")

    assert '"index": "007"' in json.dumps(load(name).to_dict())


def test_a_variable_without_default_that_is_not_set_is_named(tmp_path: Path):
    file = tmp_path / "own.yaml"
    file.write_text("components: {a: ${PREFRAG_NOT_THERE}}")

    with pytest.raises(ValueError, match="PREFRAG_NOT_THERE"):
        load(str(file))


def test_a_folder_of_ones_own_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    data = load("prefrag").to_dict()
    data["components"]["start"]["init_parameters"]["top_k"] = 7
    (tmp_path / "prefrag.yaml").write_text(yaml.safe_dump(data))
    monkeypatch.setenv("PREFRAG_PIPELINES_DIR", str(tmp_path))

    assert load("prefrag").to_dict()["components"]["start"]["init_parameters"]["top_k"] == 7


@for_each("name", "nonsense", "/nowhere/own.yaml")
def test_a_pipeline_that_is_not_there_is_named(name: str):
    with pytest.raises(ValueError, match="There is no pipeline"):
        load(name)


@for_each(
    "old, new, message",
    ("preferred: local", "preferred: moon", "preferred source 'moon'"),
    ("on_doubt: keep", "on_doubt: guess", "on_doubt is 'guess'"),
    ("reflection: reply", "reflection: maybe", "reflection is 'maybe'"),
    ("cost_of_leaving: 2", "cost_of_leaving: -1", "a number of at least 0"),
    ("prefrag.components.rankers.title_match_ranker.TitleMatchRanker", "components.nowhere.Ranker", "nowhere"),
    ("judge.kept", "judge.maybe", "maybe"),
    ("connections:", "connections: [", "cannot be loaded"),
)
def test_a_mistake_in_the_yaml_is_reported_in_words(tmp_path: Path, old: str, new: str, message: str):
    text = Path("yaml_pipelines/prefrag.yaml").read_text(encoding="utf-8")
    assert old in text
    file = tmp_path / "own.yaml"
    file.write_text(text.replace(old, new))

    with pytest.raises(ValueError, match=message):
        load(str(file))


@for_each("prompts", "plain", "{}")
def test_steps_need_the_prompts_of_the_product(prompts: str, tmp_path: Path):
    (tmp_path / "passage.jinja").write_text("{{ number }} {{ content }}")
    changes = {"reasoner.reply_format": "steps", "start.prompts": prompts.format(tmp_path)}

    with pytest.raises(ValueError, match=r"component 'reasoner' .*: set reply_format to auto, or prompts to product"):
        load("prefrag", replace=changes)
    load("prefrag", replace={**changes, "start.prompts": "product"})
    load("prefrag", replace={**changes, "reasoner.reply_format": "auto"})


@for_each(
    "text, message",
    ("hello", "no `components`"),
    ("", "no `components`"),
    ("- a", "no `components`"),
    ("a: [", "cannot be loaded"),
    ("components: {}\nconnections: []", "no component answer"),
)
def test_a_file_that_is_no_pipeline_is_reported_in_words(tmp_path: Path, text: str, message: str):
    file = tmp_path / "own.yaml"
    file.write_text(text)

    with pytest.raises(ValueError, match=message):
        load(str(file))
