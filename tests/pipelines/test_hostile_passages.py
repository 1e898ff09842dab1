"""Passages that attack reach no action, label, verdict, citation of another document, or client's renderer."""

from __future__ import annotations

import pytest

from tests.hostile_passages import PASSAGES
from tests.pipelines.hostile_runs import MODELS, WAYS, run_hostile


def test_there_are_sixty_in_ten_classes():
    assert len(PASSAGES) == 10
    assert sum(map(len, PASSAGES.values())) >= 60


@pytest.mark.parametrize(
    ("way", "source"), [(way, source) for way, source in WAYS if source == "web" or "dr_rag" in way]
)
@pytest.mark.parametrize("kind", PASSAGES)
def test_a_class_of_them_reaches_nothing(kind: str, way: str, source: str):
    assert {model: run_hostile(way, source, model, PASSAGES[kind]) for model in MODELS} == {
        model: set() for model in MODELS
    }


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(("way", "source"), WAYS)
@pytest.mark.parametrize("kind", PASSAGES)
def test_each_alone_reaches_nothing(kind: str, way: str, source: str, model: str):
    reached = {number: run_hostile(way, source, model, [passage]) for number, passage in enumerate(PASSAGES[kind])}

    assert {number: what for number, what in reached.items() if what} == {}
