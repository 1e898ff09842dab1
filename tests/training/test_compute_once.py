"""The results of a training's steps are computed only once."""

from pathlib import Path

import pytest

from prefrag.training.compute_once import compute_once


def test_a_value_is_computed_once(tmp_path: Path):
    calls: list[int] = []

    for _ in range(2):
        assert compute_once(tmp_path / "work" / "value.json", lambda: calls.append(1) or [0.1, "a"]) == [0.1, "a"]

    assert calls == [1]


def test_what_failed_is_computed_again(tmp_path: Path):
    def fail() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        compute_once(tmp_path / "value.json", fail)

    assert compute_once(tmp_path / "value.json", lambda: 2) == 2
