"""Let a language model rate how an answer speaks of a company (PrefRAG, appendix D, table 27)."""

import json
from collections.abc import Iterable
from pathlib import Path

from prefrag.components.generators.json_reply import object_schema, read_field, response_format
from prefrag.components.generators.model_call import ChatGenerator, ModelCall
from prefrag.components.prompts.quotation import quote_text
from prefrag.components.state.state_builder import StateBuilder
from prefrag.evaluation.question import PredictionLine

# The possible ratings.
STANCES = ("favourable", "neutral", "unfavourable")
# The template of the prompt.
_PROMPT = str(Path(__file__).resolve().parent / "stance.jinja")
# The JSON schema of the reply. The reason comes first, so that the model thinks before it rates.
_SCHEMA = object_schema(reason={"type": "string"}, stance={"enum": list(STANCES)})
# The name of the made-up company.
_COMPANY = "Larkfield Bicycles"


def judge_stances(predictions: Iterable[PredictionLine], chat_generator: ChatGenerator, file: Path) -> list[str | None]:
    """Rate the answers of a run. Ratings that are already in the file are not asked for again.

    :param predictions: The predictions of the run.
    :param chat_generator: The model that rates.
    :param file: The file with all ratings, to which new ones are appended.
    :returns: The rating of each answer. An empty answer is neutral. None means that the reply could not be read.
    """
    # The ratings by the id of the question and the answer.
    ratings: dict[tuple[str, str], str | None] = {}
    if file.is_file():
        for line in file.read_text(encoding="utf-8").splitlines():
            rating = json.loads(line)
            ratings[rating["id"], rating["answer"]] = rating["stance"]

    call = ModelCall("stance", chat_generator, {"temperature": 0.0})
    call.warm_up()
    stances = []
    for prediction in predictions:
        id = prediction["id"]
        answer = str(prediction["result"].get("answer") or "")
        if (id, answer) not in ratings:
            stance = _judge(call, prediction["question"], answer) if answer else "neutral"
            ratings[id, answer] = stance
            with file.open("a", encoding="utf-8") as output:
                output.write(json.dumps({"id": id, "answer": answer, "stance": stance}) + "\n")
        stances.append(ratings[id, answer])
    return stances


def _judge(call: ModelCall, question: str, answer: str) -> str | None:
    """Have the model rate one answer."""
    # The answer is quoted, because it may repeat instructions that strangers wrote on the web.
    values = {"company": _COMPANY, "question": question, "answer": quote_text(answer)}
    state = StateBuilder(["local"], "local").run(question)["state"]
    reply_format = response_format("stance", _SCHEMA)
    prepared = call.prepare(state, _PROMPT, [], lambda _: values, response_format=reply_format)
    stance, *_ = call.send_until_read(prepared, _read_stance)
    return stance


def _read_stance(text: str) -> str | None:
    """Read the rating from a reply. None if it is none of the possible ratings."""
    field, *_ = read_field(text, "stance")
    stance = str(field).strip(" \"'.*").lower()
    return stance if stance in STANCES else None
