"""Which snippets of a noisy web count as their whole passages."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prefrag.evaluation.question import Hop, Question
from prefrag.evaluation.simulated_reader.gold import GoldQuestion, Passage, cut_to_sentences
from tests.benchmark_data import DATA, DATASETS, with_data

TOWN = Passage("p1", "Corvo", "Corvo is a town. It lies by the sea. Its mayor is Dora Stern. She likes elms.")
STERN = Passage("p2", "Dora Stern", "Dora Stern was born in Elmham. She is a mayor.")
QUESTION = Question("q", "Where was the mayor of the town by the sea born?", ("Elmham",), supporting_ids=("p1", "p2"))


def prompt(passage: Passage, text: str) -> str:
    return f"Observation: [1kx] {passage.title}\n| {text}\n\n[1mx] Fir\n| Firs are trees."


def counts(gold: GoldQuestion, passage: Passage, sentences: int) -> bool:
    """Whether the first sentences of a passage count as the passage."""
    snippet = cut_to_sentences(passage.text, sentences)
    shown = replace(gold, web_sentences=sentences).find_shown(prompt(passage, snippet))
    is_gold = passage.id in shown.gold
    assert shown.irrelevant == (1 if is_gold else 2)
    assert shown.texts == ({passage.id: snippet} if is_gold else {})
    return is_gold


def least(gold: GoldQuestion, passage: Passage) -> int:
    return next(many for many in range(1, 9) if counts(gold, passage, many))


def test_sub_question_needs_its_answer_and_facts_all_values():
    """Each in the sentences of the text."""

    hops = (Hop("Who is mayor of Corvo?", "Dora Stern", "p1"), Hop("Where was #1 born?", "Elmham", "p2"))
    gold = GoldQuestion(replace(QUESTION, decomposition=hops), (TOWN, STERN))

    assert (least(gold, TOWN), least(gold, STERN)) == (3, 1)

    facts = (("Corvo", "lies by", "the sea"), ("Corvo", "mayor likes", "elms"), ("Dora Stern", "born in", "Elmham"))
    gold = GoldQuestion(replace(QUESTION, evidence_triples=facts), (TOWN, STERN))

    assert (least(gold, TOWN), least(gold, STERN)) == (4, 1)


def test_unannotated_text_needs_answer_title_or_closest_sentence():
    """The title is that of another gold passage."""

    gold = GoldQuestion(QUESTION, (TOWN, STERN))

    assert (least(gold, TOWN), least(gold, STERN)) == (3, 1)

    gold = GoldQuestion(Question("q", "Does the town lie by the sea?", ("yes",), supporting_ids=("p1",)), (TOWN,))

    assert least(gold, TOWN) == 2


def test_whole_passage_counts_and_a_part_with_a_noisy_web_alone():
    gold = GoldQuestion(QUESTION, (TOWN, STERN))
    whole, part = prompt(STERN, STERN.text), prompt(STERN, "Dora Stern was born in Elmham.")

    assert gold.find_shown(part).gold == {}
    cut = replace(gold, web_sentences=1)
    assert cut.find_shown(part).gold == cut.find_shown(whole).gold == gold.find_shown(whole).gold == {"p2": "1kx"}
    assert cut.find_shown(whole).texts == {"p2": STERN.text}


@given(st.lists(st.sampled_from(["Elms are trees.", "Is it so?", "No!", "a b"]), max_size=6), st.integers(1, 7))
def test_text_is_cut_to_its_first_sentences_and_a_shorter_stays(sentences: list[str], many: int):
    text = "\n".join(sentences)
    cut = cut_to_sentences(text, many)

    assert cut == (text if len(sentences) <= many else " ".join(sentences[:many]))


@with_data
@pytest.mark.parametrize("dataset", DATASETS)
def test_a_longer_snippet_of_a_benchmark_is_never_worth_less(dataset: str):
    from prefrag.evaluation.simulated_reader.gold import load_gold

    questions = load_gold([str(DATA / dataset / "dev.jsonl")], [str(DATA / dataset / "corpus.jsonl")])
    for gold in list(questions.values())[:20]:
        for passage in gold.passages:
            shown = [gold.is_in_snippet(passage, cut_to_sentences(passage.text, many)) for many in (1, 2, 3, 99)]
            assert shown == sorted(shown), passage.title
            assert shown[-1]
