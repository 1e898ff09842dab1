"""Scripted pipelines are built once for all tests of this folder."""

from collections.abc import Iterator

import pytest

from tests.pipelines import scripted


@pytest.fixture(scope="session")
def _pipelines() -> scripted.Lent:
    return scripted.Lent()


@pytest.fixture(autouse=True)
def _lent(_pipelines: scripted.Lent, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(scripted, "lent", _pipelines)
    yield
    _pipelines.take_back()
