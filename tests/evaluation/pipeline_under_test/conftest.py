"""What the tests of a pipeline under test share."""

from pathlib import Path
from typing import Any

import pytest

from prefrag.collections.collection import Collection
from tests.evaluation.pipeline_under_test.lighthouse import BOTH, BUILDER, LIGHTHOUSE, QUESTION, jsonl


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    return jsonl(tmp_path / "corpus.jsonl", LIGHTHOUSE, BUILDER, BOTH)


@pytest.fixture
def dev(tmp_path: Path) -> Path:
    return jsonl(tmp_path / "dev.jsonl", QUESTION)


@pytest.fixture
def stores(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The kinds of stores into which a corpus was put; each is embedded, so that no server is needed."""
    from prefrag.evaluation import corpora

    make, stores = corpora.ensure_indexes, []

    def made(*arguments: Any, kind: type[Collection], **settings: Any) -> corpora.CorpusIndexes:
        stores.append(kind.store)
        return make(*arguments, **settings)

    monkeypatch.setattr(corpora, "ensure_indexes", made)
    return stores
