"""The evidence of a run."""

from __future__ import annotations

from dataclasses import replace

from haystack import Document

from prefrag.components.state.evidence import find_evidence, rank_sentences
from prefrag.components.state.state import Action, Evidence, Step
from tests.components.samples import state

LAMP = Document(content="It shines. The Petrel lamp was designed by Mona Reeve.", meta={"title": "Petrel lamp"})
REEVE = Document(content="Mona Reeve was born in Pellhaven. She swam.", meta={"title": "Mona Reeve"})
MANY = Document(content=" ".join(f"Sentence {n} is short." for n in range(9)))


def read(*sentences: tuple[Document, str]) -> Step:
    return Step(Action.ANSWER, withheld=True, evidence=tuple(Evidence(*one, "?") for one in sentences))


def search(query: str, *documents: Document) -> Step:
    return Step(Action.SEARCH, query=query, documents=documents, observed=True)


def test_the_likeliest_answers_sentence_is_first_then_one_for_each_search_then_the_other_candidates():
    run = replace(
        state(
            search("Petrel lamp designed", LAMP),
            search("Mona Reeve born", REEVE),
            read((REEVE, "She swam."), (LAMP, "It shines.")),
        ),
        question="Where was the designer of the Petrel lamp born?",
    )

    assert [one.sentence for one in find_evidence(run)] == [
        "She swam.",
        "The Petrel lamp was designed by Mona Reeve.",
        "Mona Reeve was born in Pellhaven.",
        "It shines.",
    ]


def test_there_are_at_most_five_sentences_and_none_twice():
    sentences = [(MANY, f"Sentence {n} is short.") for n in range(9)]

    found = [one.sentence for one in find_evidence(state(search("9", LAMP), read(*sentences, *sentences)))]

    assert len(found) == len(set(found)) == 5


def test_sentences_are_ranked_by_rare_words_of_the_query_and_the_earlier_first():
    ranked = [one.sentence for one in rank_sentences("Mona Reeve born", [LAMP, REEVE])]

    assert ranked[0] == "Mona Reeve was born in Pellhaven."
    assert ranked.index("It shines.") == len(ranked) - 1
