"""Real servers and real data, where they are."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

SHARED = Path(os.environ.get("PREFRAG_TEST_SHARED", Path(__file__).resolve().parents[3] / "shared"))


@pytest.fixture
def hotpotqa() -> Path:
    """The folder of the HotpotQA subset."""
    folder = SHARED / "data" / "multihop" / "hotpotqa"
    if not folder.is_dir():
        pytest.skip("needs the benchmark data beside the checkout, in ../shared/data")
    return folder


@pytest.fixture
def elasticsearch_url() -> str:
    """Where a real Elasticsearch listens."""
    url = os.environ.get("PREFRAG_TEST_ELASTICSEARCH_URL")
    if not url:
        pytest.skip("needs a real Elasticsearch: set PREFRAG_TEST_ELASTICSEARCH_URL")
    return url
