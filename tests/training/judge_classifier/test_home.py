"""Simulated runs over a user's own files, cut into many passages."""

from pathlib import Path
from typing import Any

import pytest

from prefrag.training.judge_classifier.home import home_steps, read_articles
from tests.for_each import for_each
from tests.training.judge_classifier.houses import ARTICLES, PASSAGES, records
from tests.training.towns import write_lines


def written(folder: Path, lines: list[Any]) -> Path:
    return write_lines(folder / "home.jsonl", lines)


class TestArticles:
    def test_an_article_is_the_texts_of_one_title(self, tmp_path: Path):
        more = [*records(), {**records()[0], "question": "Is the first door painted?"}]
        articles = read_articles(written(tmp_path, more))
        assert [article.title for article in articles] == [f"House {house}" for house in range(ARTICLES)]
        assert {len(article.passages) for article in articles} == {PASSAGES}
        questions = articles[0].questions
        (answering,) = (passage for passage in articles[0].passages if passage.id == questions[0].passage)
        assert answering.content == "The door 0 of the house 0 is painted in colour 0."
        assert (len(questions), questions[0].passage) == (PASSAGES + 1, questions[-1].passage)

    def test_short_articles_are_left_out_and_too_few_reported(self, tmp_path: Path):
        short = [{**record, "title": "Hut"} for record in records(articles=1, passages=9)]

        assert "Hut" not in {article.title for article in read_articles(written(tmp_path, [*records(), *short]))}
        with pytest.raises(ValueError, match="has 3 articles with questions on at least 10 passages: .* at least 4"):
            read_articles(written(tmp_path, records(articles=3)))

    @for_each("line", {"question": "Who?", "title": "House"}, ["Who?"], "Who?")
    def test_a_line_without_what_is_needed_is_named(self, tmp_path: Path, line: Any):
        with pytest.raises(ValueError, match=r"home\.jsonl, line 61: give `question`, `title` and `text`"):
            read_articles(written(tmp_path, [*records(), line]))


@pytest.fixture(scope="module")
def articles(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return read_articles(written(tmp_path_factory.mktemp("home"), records()))


@pytest.fixture(scope="module")
def steps(articles: Any) -> Any:
    return list(home_steps(articles, seed=1))


class TestSteps:
    def test_steps_are_two_searches_and_some_answers_are_not_at_home(self, steps: Any):
        assert {step.step for step in steps} == {0, 1}
        assert all(", and what colour" in step.question for step in steps)
        assert all(bool(step.observed) == (step.step == 1) for step in steps)
        assert all(len(step.features) == len(step.needed) == len(step.passages) for step in steps)

        second = [step for step in steps if step.step]

        assert 0.1 < sum(not step.keep for step in second) / len(second) < 0.7

    def test_a_shown_answer_is_needed_only_where_it_is_asked_for(self, steps: Any):
        second = [step for step in steps if step.step]
        shown = [
            [features["shown"] for features, needed in zip(step.features, step.needed, strict=True) if needed]
            for step in second
        ]

        assert any(sum(flags) for flags in shown)
        assert all(sum(flags) <= 1 for flags in shown), "what answers the first part is no longer needed"

    @pytest.mark.parametrize(
        ("titles", "expected"), [("own", "House"), ("file", "README"), ("none", "")], ids=["own", "file", "none"]
    )
    def test_the_passages_of_an_article_have_one_title(self, articles: Any, steps: Any, titles: Any, expected: str):
        named: dict[str, set[str]] = {}
        for step in steps if titles == "own" else home_steps(articles, seed=1, titles=titles):
            for passage in step.passages:
                named.setdefault(passage.id.split("#")[0], set()).add(str(passage.meta["title"]))

        assert all(len(own) == 1 for own in named.values())
        assert any(title.startswith(expected) for own in named.values() for title in own)
        assert len(set.union(*named.values())) == (1 if titles == "none" else len(named))

    @pytest.mark.slow
    def test_the_same_seed_gives_the_same(self, articles: Any, steps: Any):
        assert list(home_steps(articles, seed=1)) == steps
        assert list(home_steps(articles, seed=2)) != steps
