"""The evaluator of CRAG: its settings."""

from typing import Any

import pytest

from prefrag.components.crag.corrective_evaluator import CorrectiveEvaluator
from prefrag.components.judge.tree_judge import TreeJudge
from tests.fakes import ScriptedChatGenerator
from tests.for_each import for_each


@for_each(
    "settings, message",
    ({"judge": None}, "give the block of a judge"),
    ({"chat_generator": None}, "A query for 'web' has to be written"),
    ({"upper": 1.1}, "set it to a number from -1 to 1"),
    ({"lower": 0.6}, "set lower to at most upper"),
    ({"strip_threshold": -2}, "set it to a number from -1 to 1"),
    ({"strips": 0}, "set it to a whole number of at least 1"),
    ({"strip_sentences": 0}, "set it to a whole number of at least 1"),
    ({"prompt": "nonsense"}, "No prompt 'nonsense'"),
)
def test_settings_that_make_no_sense_are_refused_in_words(settings: dict[str, Any], message: str):
    given = {"judge": TreeJudge(), "chat_generator": ScriptedChatGenerator(["x"]), "search_source": "web"}

    with pytest.raises(ValueError, match=message):
        CorrectiveEvaluator(**{**given, **settings})


def test_has_an_output_for_each_action_where_another_source_follows_and_one_where_none_does():
    before = CorrectiveEvaluator(TreeJudge(), ScriptedChatGenerator(["x"]), "web")
    after = CorrectiveEvaluator(TreeJudge())

    assert set(before.__haystack_output__._sockets_dict) == {"kept", "ambiguous", "incorrect"}
    assert set(after.__haystack_output__._sockets_dict) == {"kept"}
