"""The fit of the weights that decide how sure a small model's answer is, on made-up measurements."""

import json
import math
import random
from pathlib import Path
from typing import Any

import pytest
from haystack import Document
from typer.testing import CliRunner

from benchmarks import answer_weights
from benchmarks.answer_weights import SIGNS, Example, cross_validate, fit, read_documents, read_example
from prefrag.components.reader.reader import Judgement
from prefrag.components.reasoner.reply_formats.steps_format import ASK_QUERY, MUST_ANSWER
from tests.benchmarks.predictions import prediction
from tests.for_each import for_each

DOCUMENT = {"id": "a", "content": "Bo Li keeps the lock.", "title": "Lock", "source": "local"}
# The order in which the made-up answers follow their signs, the strongest first: the reader's probability, the head of
# the question, the mean log probability, the cover; being forced speaks against an answer.
TRUE_WEIGHTS = [0.5, 1.5, 3.0, -2.0, 1.0, -1.0]


class MadeUpReader:
    """Judges an answer by the numbers that it is made of."""

    def judge(self, question: str, documents: Any, answer: str) -> Judgement:
        assert [document.content for document in documents] == [DOCUMENT["content"]]
        cover, head, probability = map(float, answer.split("_")[1:])
        return Judgement(probability, cover, head, is_outdated=answer.startswith("old"))


def call(reply: str, last_line: str = "Answer in a few words.", logprobs: bool = True, mean: Any = -0.5) -> Any:
    said = {"role": "assistant", "text": reply, "tool_calls": [], "mean_logprob": mean}
    message = {"role": "user", "text": f"Passages.\n\n{last_line}", "tool_calls": []}
    return {"messages": [message], "parameters": {"logprobs": logprobs}, "tools": [], "seconds": 2.0, "reply": said}


def confirmation(yes: float, no: float) -> Any:
    made = call("Yes", "Reply Yes or No.")
    made["parameters"] = {"logprobs": True, "top_logprobs": 5}
    made["reply"]["first_words"] = {"yes": yes, "no": no}
    return made


def asked(*calls: Any, gold: str = "", **more: Any) -> dict[str, Any]:
    made = prediction("", gold or "Bo Li", calls=calls, **more)
    return {**made, "result": {**made["result"], "documents": [DOCUMENT]}}


def example(*calls: Any, **more: Any) -> Example | None:
    return read_example(asked(*calls, **more), MadeUpReader())  # type: ignore[arg-type]


def make_up(number: int) -> list[dict[str, Any]]:
    draw, made = random.Random(3), []
    for place in range(number):
        cover, head, probability, mean = draw.random(), draw.random(), draw.random(), -2 * draw.random()
        forced = draw.random() < 0.5
        row = [cover, head, math.sqrt(probability), forced, mean, 1.0]
        total = sum(weight * value for weight, value in zip(TRUE_WEIGHTS, row, strict=True))
        answer = f"a{place}_{cover}_{head}_{probability}"
        last_line = MUST_ANSWER if forced else "Answer in a few words."
        is_right = draw.random() < 1 / (1 + math.exp(-total))
        likely = draw.uniform(0.2, 0.8)
        calls = (call(answer, last_line, mean=mean), confirmation(likely, 1 - likely))
        made.append(asked(*calls, gold=answer if is_right else "Bo Li"))
    return made


class TestExample:
    def test_is_the_last_answer_that_was_proposed_with_its_signs(self):
        made = example(call("early_1_1_1"), call("q", ASK_QUERY), call("Li_0.5_0_0.25", MUST_ANSWER), call("NOT FOUND"))

        signs = {"cover": 0.5, "head": 0.0, "reader": 0.5, "forced": 1.0, "logprob": -0.5}
        assert made == Example(signs, False)

    @for_each("gold, answerable, is_right", ("Li_1_0_1", True, True), ("Bo", True, False), ("Li_1_0_1", False, False))
    def test_is_right_if_the_documents_answer_so(self, gold: str, answerable: bool, is_right: bool):
        made = example(call("Li_1_0_1"), gold=gold, answerable=answerable)

        assert made is not None
        assert made.is_right is is_right

    def test_without_log_probabilities_has_a_sign_less(self):
        made = example(call("Li_1_0_1", mean=None))

        assert made is not None
        assert "logprob" not in made.signs

    def test_has_the_probability_with_which_the_model_confirmed_it(self):
        made = example(call("Li_1_0_1"), confirmation(0.6, 0.2))

        assert made is not None
        assert made.signs["confirmed"] == pytest.approx(0.75)
        unclear = example(call("Li_1_0_1"), confirmation(0.1, 0.1))
        assert unclear is not None
        assert "confirmed" not in unclear.signs

    @for_each("reply", "NOT FOUND", "yes", "", "old_1_0_1", "uncarried_0_0_0")
    def test_is_none_where_the_product_weighs_nothing(self, reply: str):
        assert example(call(reply)) is None
        assert example(call("Li_1_0_1", logprobs=False)) is None


def test_the_fit_recovers_the_order_of_the_signs():
    made = [read_example(prediction, MadeUpReader()) for prediction in make_up(800)]  # type: ignore[arg-type]
    signs = SIGNS["with_tokens"]
    examples = [Example({sign: ex.signs[sign] for sign in signs}, ex.is_right) for ex in made if ex is not None]

    weights = list(fit(examples))
    area = cross_validate(examples)

    assert sorted(range(5), key=lambda sign: weights[sign]) == sorted(range(5), key=lambda sign: TRUE_WEIGHTS[sign])
    assert 0.7 < area.low < area.mean < area.high < 0.9
    chance = [Example(made.signs, place % 2 == 0) for place, made in enumerate(examples)]
    assert 0.4 < cross_validate(chance).mean < 0.6


def test_passages_of_a_collection_keep_what_results_leave_out():
    table = Document(id="a", content="Row", meta={"title": "Rates", "tables": "[]"})
    described = [{"id": "a", "content": "Row", "title": "Rates", "source": "local"}, {**DOCUMENT, "id": "b"}]

    looked_up, described_only = read_documents(described, {"a": table})

    assert looked_up.meta == {"title": "Rates", "tables": "[]", "source": "local"}
    assert described_only.content == DOCUMENT["content"]


def test_the_command_writes_the_weights_that_the_product_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    file = tmp_path / "answer_weights.json"
    shipped = json.loads(answer_weights.WEIGHTS_FILE.read_text())
    monkeypatch.setattr(answer_weights, "WEIGHTS_FILE", file)
    monkeypatch.setattr(answer_weights, "ExtractiveReader", MadeUpReader)
    for name, number in {"own-train": 90, "few": 5}.items():
        (tmp_path / name).mkdir()
        lines = "".join(json.dumps(prediction) + "\n" for prediction in make_up(number))
        (tmp_path / name / "predictions.jsonl").write_text(lines)
    app = answer_weights.typer.Typer()
    app.command()(answer_weights.main)

    few = CliRunner().invoke(app, [str(tmp_path / "few"), "--write"])
    enough = CliRunner().invoke(app, [str(tmp_path / "own-train"), "--write"])

    assert few.exit_code == 2
    assert "too few to fit" in few.output
    assert "AUC 0." in enough.output
    assert "from 0.70 on: " in enough.output
    written = json.loads(file.read_text())
    assert {name: list(values) for name, values in written.items()} == {
        name: list(values) for name, values in shipped.items()
    }
