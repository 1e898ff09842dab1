"""Make the states of the judges' trial from the demo's passages: python -m tests.components.judge.trial_states

Each is a question, a gold passage observed before it, and two new passages: with the next gold passage if the verdict is
True, else only others from the question's candidates.
"""

import json
import random
from pathlib import Path
from typing import Any

from prefrag.components.judge.judge_trial import LEAST_STATES, TRIAL_STATES

DEMO = Path(__file__).parents[3] / "demo"
# Of the question and the passages. With the 870 of the prompt, they are some 500 tokens.
MOST_CHARACTERS = 1_200


def read_lines(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (DEMO / name).read_text(encoding="utf-8").splitlines()]


def make_states() -> list[dict[str, Any]]:
    """Make the states in their order, True and False in turn, from one question each."""
    chance = random.Random(0)
    passages = {passage["id"]: passage for passage in (*read_lines("local.jsonl"), *read_lines("web.jsonl"))}
    questions = [question for question in read_lines("questions.jsonl") if len(question["supporting_ids"]) > 1]
    chance.shuffle(questions)
    states: list[dict[str, Any]] = []
    for question in questions:
        verdict = len(states) % 2 == 0
        observed, gold, *_ = question["supporting_ids"]
        others = chance.sample([key for key in question["candidate_ids"] if key not in question["supporting_ids"]], 2)
        new = [gold, others[0]] if verdict else others
        chance.shuffle(new)
        shown = {
            name: [{key: passages[passage_id][key] for key in ("id", "title", "text")} for passage_id in keys]
            for name, keys in (("observed", [observed]), ("new", new))
        }
        state = {"id": question["id"], "question": question["question"], **shown, "verdict": verdict}
        texts = [
            question["question"],
            *(passage["title"] + passage["text"] for name in shown for passage in shown[name]),
        ]
        if sum(map(len, texts)) <= MOST_CHARACTERS and len(states) < LEAST_STATES:
            states.append(state)
    return states


if __name__ == "__main__":
    TRIAL_STATES.write_text(json.dumps(make_states(), ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
