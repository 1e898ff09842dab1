"""What one, two or three passages hold of a question, and how sure a reader is."""

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

from haystack import Document

from prefrag.components.judge.sufficiency_features import FEATURES, as_row, sufficiency_features
from prefrag.components.reader.reader import Candidate
from tests.fakes import ScriptedReader
from tests.for_each import for_each
from tests.indexes import index_of

Kind = Literal["span", "yes", "no", "steps"]
QUESTION = "Which medal did the founder of the Tarn Mill win?"
MILL = Document(content="The Tarn Mill was opened by its founder, Roke.", meta={"title": "Tarn Mill"})
ROKE = Document(content="Roke came from Hollin.", meta={"title": "Roke"})
PRIZE = Document(content="To win a medal is hard.", meta={"title": "Prize"})


class FixedScorer:
    def __init__(self, **scores: float):
        self.scores = scores

    def score(self, question: str, pairs: list[tuple[Document, Document]]) -> list[float]:
        titles = ["_".join(sorted(document.meta["title"].split()[0] for document in pair)) for pair in pairs]
        return [self.scores.get(title, 0.0) for title in titles]


class FixedReader(ScriptedReader):
    """Finds an answer of one kind with a probability of 0.7."""

    def __init__(self, kind: Kind):
        super().__init__([[("Roke", 0.7)]])
        self.kind = kind

    def read(self, question: str, documents: Sequence[Document]) -> list[Candidate]:
        return [replace(candidate, kind=self.kind) for candidate in super().read(question, documents)]


SCORER = FixedScorer(Roke_Tarn=0.9, Prize_Roke=0.4)


def test_the_best_pair_and_what_it_leads_to_are_measured():
    features = sufficiency_features(QUESTION, [ROKE, PRIZE, MILL], SCORER)

    # The words of four letters and more that count: medal, founder, tarn, mill.
    assert features.pair == 0.9
    assert features.words == 4
    assert features.one_covers == features.pair_covers == 0.75
    assert features.three_cover == features.all_cover == 1.0
    assert features.absent_names == features.absent_in_pair == 0.0


@for_each(
    "passages, one, all_of_them",
    ([MILL], 0.75, 0.75),
    ([PRIZE], 0.25, 0.25),
    ([ROKE], 0.0, 0.0),
)
def test_a_single_passage_makes_no_pair(passages: list[Document], one: float, all_of_them: float):
    features = sufficiency_features(QUESTION, passages, SCORER)

    assert features.pair == 0.0
    assert (features.one_covers, features.three_cover, features.all_cover) == (one, all_of_them, all_of_them)


@for_each(
    "question, share",
    ("Who founded the Tarn Mill?", 0.0),
    ("Who founded the Gull Mill?", 0.5),
    # The first word is capitalised anyway.
    ("Gull or mill?", 0.0),
    ("who founded it?", 0.0),
)
def test_names_that_no_passage_holds_are_counted(question: str, share: float):
    assert sufficiency_features(question, [MILL, ROKE], SCORER).absent_names == share


@for_each(
    "kind, measured",
    ("span", 0.7),
    ("steps", 0.7),
    # The likelier of yes and no says nothing on whether the passages state it.
    ("yes", None),
    ("no", None),
)
def test_the_reader_says_how_sure_it_is(kind: Kind, measured: float | None):
    features = sufficiency_features(QUESTION, [MILL, ROKE], SCORER, reader=FixedReader(kind))

    assert math.isnan(features.answer) if measured is None else features.answer == measured


def test_without_a_reader_or_its_answer_a_value_is_missing():
    assert math.isnan(sufficiency_features(QUESTION, [MILL], SCORER).answer)
    assert math.isnan(sufficiency_features(QUESTION, [MILL], SCORER, reader=ScriptedReader([[]])).answer)


def test_words_that_a_question_asks_with_do_not_count(tmp_path: Path):
    store = index_of([MILL, ROKE], tmp_path / "index")

    features = sufficiency_features("When did the founder of the Tarn Mill come?", [MILL], SCORER, store)
    same = sufficiency_features("founder Tarn Mill come", [MILL], SCORER, store)

    assert (features.words, features.one_covers) == (same.words, same.one_covers)


def test_a_row_has_the_values_in_the_order_of_the_names():
    features = sufficiency_features(QUESTION, [MILL, ROKE], SCORER, reader=ScriptedReader([[("Roke", 0.7)]]))

    assert as_row(features) == tuple(getattr(features, name) for name in FEATURES)
