"""One process at a time makes or embeds an index."""

from __future__ import annotations

import pytest

from prefrag.indexing.lock import index_lock


def test_whoever_else_wants_it_waits_no_longer_than_it_may(caplog: pytest.LogCaptureFixture) -> None:
    with index_lock("a"), pytest.raises(ValueError, match="still counting after 0 seconds"):  # noqa: SIM117
        with index_lock("a", wait=0.0, work="counting"):
            pass
    assert "Another process is counting: waiting" in caplog.text


def test_it_ends_with_its_context_and_another_name_is_another_lock() -> None:
    for _ in range(2):
        with index_lock("a"), index_lock("b", wait=0.0):
            pass
