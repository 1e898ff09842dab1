"""The evaluator of CRAG: its settings."""

from prefrag.components.crag.corrective_evaluator import CorrectiveEvaluator
from prefrag.components.judge.tree_judge import TreeJudge
from tests.fakes import ScriptedChatGenerator


def test_has_an_output_for_each_action_where_another_source_follows_and_one_where_none_does():
    before = CorrectiveEvaluator(TreeJudge(), ScriptedChatGenerator(["x"]), "web")
    after = CorrectiveEvaluator(TreeJudge())

    assert set(before.__haystack_output__._sockets_dict) == {"kept", "ambiguous", "incorrect"}
    assert set(after.__haystack_output__._sockets_dict) == {"kept"}
