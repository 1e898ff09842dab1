"""The benchmark data beside the checkout, which only some machines have."""

from pathlib import Path
from typing import Any

import pytest

DATA = Path(__file__).resolve().parents[2] / "shared" / "data" / "multihop"
DATASETS = ("hotpotqa", "2wikimultihopqa", "musique", "bioasq")


def with_data(test: Any) -> Any:
    """Mark a test that reads the benchmark data: it is slow, and skipped if the data is missing."""
    missing = pytest.mark.skipif(not DATA.is_dir(), reason="the benchmark data is not in ../shared/data")
    return pytest.mark.slow(missing(test))
