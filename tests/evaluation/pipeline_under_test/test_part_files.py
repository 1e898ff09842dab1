from pathlib import Path
from typing import Any

import pytest

import prefrag.evaluation.pipeline_under_test.part_files
from prefrag import evaluation
from prefrag.components.prompts.render_prompt import PROMPTS
from prefrag.evaluation.pipeline_under_test.part_files import part_files
from prefrag.pipelines import load
from tests.evaluation.answering import pipeline, questions
from tests.fakes import CALLS
from tests.for_each import for_each


def block(trees: object = None, prompt: str = "answer_once") -> dict[str, Any]:
    inner = {"type": "prefrag.components.judge.tree_judge.TreeJudge", "init_parameters": {"trees": trees}}
    judge = {
        "type": "prefrag.components.judge.source_switch_judge.SourceSwitchJudge",
        "init_parameters": {"judge": inner},
    }
    reasoner = {"type": "prefrag.components.reasoner.reasoner.Reasoner", "init_parameters": {"prompt": prompt}}
    return {"components": {"judge": judge, "reasoner": reasoner}}


def test_trees_retrained_at_the_same_path_are_others(tmp_path: Path) -> None:
    trees = tmp_path / "trees.json"
    trees.write_text("{}")
    before = part_files(block(str(trees)))
    assert part_files(block(str(trees))) == before
    trees.write_text("{ }")

    after = part_files(block(str(trees)))

    assert {name for name in before if before[name] != after[name]} == {str(trees)}


def test_own_prompt_and_folder_of_a_model_are_digested(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    prompt, model = tmp_path / "mine.jinja", tmp_path / "pairs"
    prompt.write_text("{{ question }}")
    model.mkdir()
    (model / "weights").write_text("1")
    monkeypatch.setenv("PREFRAG_PAIR_CLASSIFIER", str(model))
    before = part_files(block(prompt=str(prompt)))
    prompt.write_text("{{ question }}?")
    (model / "weights").write_text("2")

    after = part_files(block(prompt=str(prompt)))

    assert {name for name in before if before[name] != after[name]} == {str(prompt), str(model)}


@for_each("shipped", "PAIR_TREES", "SWITCH_TREES", "QUESTION_TREES")
def test_what_is_shipped_is_digested_and_names_of_models_are_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shipped: str
) -> None:
    before = part_files(block("glm-4"))
    assert set(before) == {"shipped prompts", "shipped trees"}
    trees = tmp_path / "trees.json"
    trees.write_text("{}")
    other = {"pair": trees} if shipped == "PAIR_TREES" else trees
    monkeypatch.setattr(prefrag.evaluation.pipeline_under_test.part_files, shipped, other)

    assert part_files(block())["shipped trees"] != before["shipped trees"]


def test_run_does_not_go_on_after_its_own_prompt_has_changed(tmp_path: Path) -> None:
    chosen = questions(4)
    prompt = tmp_path / "mine.jinja"
    prompt.write_text((PROMPTS / "answer_once.jinja").read_text())
    file = pipeline(tmp_path, chosen)
    file.write_text(load(file, replace={"reasoner.prompt": str(prompt)}).dumps())
    evaluation.run(str(file), chosen, output=tmp_path / "run", limit=2, progress=False)
    prompt.write_text(prompt.read_text() + "\nBe brief.")
    CALLS.clear()

    with pytest.raises(ValueError, match=r"other settings: files was .*mine\.jinja"):
        evaluation.run(str(file), chosen, output=tmp_path / "run", progress=False)
    assert not CALLS
