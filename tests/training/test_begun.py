"""A training goes on only where its folder holds a training that is made of the same things."""

from pathlib import Path

import pytest

import prefrag.training.begun
from prefrag.training.begun import check_begun, digest, fingerprint
from tests.for_each import for_each


@pytest.fixture
def begun(tmp_path: Path) -> Path:
    """The file of a training that was begun with seed 7 and has left a result."""
    file = tmp_path / "training" / "settings.json"
    check_begun(file, seed=7, datasets=[("books", "a1")])
    (file.parent / "half-0.pt").write_text("weights")
    return file


def test_the_same_training_goes_on(begun: Path):
    check_begun(begun, seed=7, datasets=[("books", "a1")])


@for_each(
    "made_of, named",
    ({"seed": 8, "datasets": [("books", "a1")]}, "another seed:"),
    ({"seed": 7, "datasets": [("books", "b2")]}, "another datasets:"),
    ({"seed": 8, "datasets": []}, "another seed, datasets:"),
    ({"seed": 7, "datasets": [("books", "a1")], "encoder": "c3"}, "another encoder:"),
)
def test_a_training_of_other_things_is_refused(begun: Path, made_of: dict[str, object], named: str):
    with pytest.raises(ValueError, match=rf"holds a training with {named} delete it, or name another output"):
        check_begun(begun, **made_of)

    check_begun(begun, seed=7, datasets=[("books", "a1")])


def test_another_version_of_the_code_does_not_go_on(begun: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(prefrag.training.begun, "find_version", lambda: "0.0.1")

    with pytest.raises(ValueError, match="another version of prefrag"):
        check_begun(begun, seed=7, datasets=[("books", "a1")])


def test_results_that_do_not_say_of_what_are_refused(begun: Path):
    begun.unlink()

    with pytest.raises(ValueError, match="does not say what it is made of"):
        check_begun(begun, seed=7, datasets=[("books", "a1")])


def test_a_training_without_a_result_starts_anew(begun: Path):
    (begun.parent / "half-0.pt").unlink()

    check_begun(begun, seed=8)

    (begun.parent / "half-0.pt").write_text("weights")
    check_begun(begun, seed=8)


class TestDigest:
    def test_is_of_the_content_and_not_of_the_place(self, tmp_path: Path):
        for folder, text in (("a", "same"), ("b", "same"), ("c", "other")):
            (tmp_path / folder).mkdir()
            (tmp_path / folder / "weights").write_text(text)

        first, second, third = (digest(tmp_path / folder) for folder in "abc")

        assert first == second != third
        assert digest(tmp_path / "a" / "weights") == digest(tmp_path / "b" / "weights")

    def test_of_a_name_on_the_hub_is_the_name(self):
        assert digest("google/bigbird-roberta-base") == "google/bigbird-roberta-base"


def test_a_fingerprint_tells_orders_and_versions_apart(monkeypatch: pytest.MonkeyPatch):
    before = fingerprint(["a", "b"])

    assert fingerprint(["a", "b"]) == before != fingerprint(["b", "a"])
    monkeypatch.setattr(prefrag.training.begun, "find_version", lambda: "0.0.1")
    assert fingerprint(["a", "b"]) != before
