"""The simulated reader as a component."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from haystack.core.serialization import component_from_dict, component_to_dict
from haystack.dataclasses import ChatMessage

from prefrag.evaluation.simulated_reader import SimulatedReader
from prefrag.evaluation.simulated_reader.gold import load_gold
from tests.evaluation.simulated_reader.trees_and_towns import BARE, HOPS, PASSAGES, asks, read_step, state
from tests.for_each import for_each


class TestAsComponent:
    def test_it_survives_yaml(self, reader):
        rates = {"judge_error": 0.1, "reflection_error": 0.2, "distraction": 0.3, "answer_error": 0.4, "memory": 0.5}
        rates |= {"stopping_error": 0.6, "source_error": 0.7}
        choices = {"source_choice": "last", "second_try": "query", "yes_no": "half", "queries": "alike"}
        original = reader(**rates, **choices, seed=4, web_sentences=2)
        data = component_to_dict(original, "reader")
        again = component_from_dict(SimulatedReader, json.loads(json.dumps(data)), "reader")

        assert again.to_dict() == original.to_dict() == data

    def test_its_reply_is_marked_as_simulated_and_counts_tokens(self, reader):
        reply = asyncio.run(reader().run_async([ChatMessage.from_user(f"Last question: {BARE}")], asks("question")))
        meta = reply["replies"][0].meta

        assert (meta["model"], meta["simulated"]) == ("simulated", True)
        assert meta["usage"]["prompt_tokens"] > 0 < meta["usage"]["completion_tokens"]

    @for_each(
        "settings",
        {"judge_error": 1.1},
        {"reflection_error": -0.1},
        {"stopping_error": 2},
        {"source_error": -1},
        {"second_try": "none"},
        {"distraction": 2},
        {"answer_error": 1.5},
        {"memory": -1},
        {"source_choice": "second"},
        {"yes_no": "two"},
        {"queries": "none"},
        {"web_sentences": -1},
    )
    def test_a_setting_out_of_range_is_refused(self, reader, settings: dict[str, Any]):
        with pytest.raises(ValueError, match=next(iter(settings))):
            reader(**settings)

    def test_absent_file_or_corpus_of_other_questions_is_named(self, files, tmp_path: Path):
        with pytest.raises(FileNotFoundError, match="nowhere.jsonl"):
            SimulatedReader("nowhere.jsonl", files["corpus"]).warm_up()
        other = tmp_path / "other.jsonl"
        other.write_text('{"id": "z", "title": "Z", "text": "Zed."}')
        with pytest.raises(ValueError, match=r"None of the 5 gold passages is in .*other\.jsonl"):
            SimulatedReader(files["questions"], str(other)).warm_up()
        with pytest.raises(ValueError, match="need a file"):
            SimulatedReader([], files["corpus"])

    def test_first_of_two_passages_with_an_id_counts_as_indexed(self, files):
        corpus = Path(files["corpus"])
        first, rest = corpus.read_text().split("\n", 1)
        corpus.write_text(f"{first}\n{json.dumps({**json.loads(first), 'text': 'Another text.'})}\n{rest}")

        gold = load_gold([files["questions"]], [files["corpus"]])

        assert {passage.text for question in gold.values() for passage in question.passages if passage.id == "p1"} == {
            PASSAGES[0][2]
        }

    @pytest.mark.parametrize("shown", ["Bru\u0308cke\n| The \ufb01nance house.", "Br\u00fccke\n| The finance house."])
    def test_gold_passage_is_recognised_as_in_corpus_and_index(self, files, shown: str):
        corpus = Path(files["corpus"])
        first, rest = corpus.read_text().split("\n", 1)
        written = {**json.loads(first), "title": "Bru\u0308cke", "text": "The \ufb01nance house."}
        corpus.write_text(f"{json.dumps(written)}\n{rest}")

        gold = load_gold([files["questions"]], [files["corpus"]])

        assert gold[HOPS].find_shown(f"[1kx] {shown}").gold == {"p1": "1kx"}
        assert gold[HOPS].find_shown(f"Title: {shown}").gold == {"p1": ""}

    def test_the_form_of_the_questions_may_be_named(self, files):
        with pytest.raises(ValueError, match="expected"):
            SimulatedReader(**files, format="hotpotqa").warm_up()
        SimulatedReader(**files, format="jsonl").warm_up()

    def test_an_unknown_question_and_an_unknown_prompt_are_refused(self, reader):
        with pytest.raises(Exception, match="does not know the question"):
            read_step(reader(), state("Who knows?"))
        with pytest.raises(ValueError, match="does not know the task of this prompt"):
            reader().run([ChatMessage.from_user(f"Question: {HOPS}\nHm?")])
