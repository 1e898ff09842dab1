"""Have a small model answer over passages that runs without a model have found, to fit how sure its answers are.

    python -m benchmarks.small_model own-train demo-train --pipeline reader
    python -m benchmarks.answer_states runs/small_model/own-train-reader ... --url http://127.0.0.1:8080/v1
    python -m benchmarks.answer_weights runs/small_model/own-train-reader-states ... --index own-train --write

Per question there is one call over the passages that the product would show, with the product's prompt. If the model
writes NOT FOUND, a second call over the same passages makes it answer. Then it is asked whether the sentence that has
its answer states it. So an example needs no whole loop. The lines of
`predictions.jsonl` in the new folders, named `CELL-states`, are those of the cell with these calls. A question that was
asked is not asked again. `--skip N` leaves the first questions of each cell out, for a report on these.
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Annotated, Any

import httpx
import typer
from haystack import Document

from benchmarks.answer_weights import read_documents
from benchmarks.small_model import find_model, read_cells
from prefrag.components.generators.token_probabilities import first_words, mean_logprob
from prefrag.components.prompts.render_prompt import render_prompt
from prefrag.components.reader.answer_carrier import find_carrier
from prefrag.components.reader.document_choice import choose_documents
from prefrag.components.reasoner import answer_confirmation
from prefrag.components.reasoner.product_rules import says_not_found
from prefrag.components.reasoner.reasoner import MOST_SHOWN
from prefrag.components.reasoner.reply_formats.steps_format import MUST_ANSWER, StepsFormat
from prefrag.components.state.passages import passages
from prefrag.components.state.state import Evidence
from prefrag.evaluation.runs.run_folder import PREDICTIONS

PARAMETERS = {"temperature": 0.1, "top_p": 0.9, "max_tokens": 160, "logprobs": True}
_SECONDS = 600


def choose_shown(question: str, documents: list[dict[str, Any]]) -> list[Document]:
    """Choose the passages that the product shows a small model, in the order in which they were found."""
    retrieved = read_documents(documents, {})
    chosen = {document.id for document in choose_documents(question, retrieved, MOST_SHOWN)}
    return [document for document in retrieved if document.id in chosen]


def call_model(client: httpx.Client, model: str, prompt: str, **parameters: Any) -> dict[str, Any]:
    """Call the model, and return the call as cells of `benchmarks.small_model` keep it."""
    message, begin = {"role": "user", "content": prompt}, time.monotonic()
    sent = {**PARAMETERS, **parameters}
    reply = client.post("/chat/completions", json={"model": model, "messages": [message], **sent})
    choice = reply.raise_for_status().json()["choices"][0]
    text = choice["message"]["content"] or ""
    probabilities = {"mean_logprob": mean_logprob(choice), "first_words": first_words(choice)}
    return {
        "messages": [{"role": "user", "text": prompt, "tool_calls": []}],
        "parameters": sent,
        "tools": [],
        "seconds": round(time.monotonic() - begin, 3),
        "reply": {"role": "assistant", "text": text, "tool_calls": [], **probabilities},
    }


def ask(client: httpx.Client, model: str, question: str, documents: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Ask for an answer or NOT FOUND; after NOT FOUND, ask for an answer alone; then have the answer confirmed."""
    shown = choose_shown(question, documents)
    values: dict[str, Any] = {
        "passages": passages(shown),
        "question": question,
        "attached": "",
        "history": (),
        "answer_type": "short",
    }
    calls = [call_model(client, model, render_prompt("reasoner_steps", asks_further="", **values))]
    if says_not_found(calls[0]["reply"]["text"]):
        calls.append(call_model(client, model, render_prompt("reasoner_steps", asks_further=MUST_ANSWER, **values)))

    answer = StepsFormat().read(calls[-1]["reply"]["text"], (), must_answer=True).answer
    carrier = find_carrier(question, answer, shown) if answer and not says_not_found(answer) else None
    if carrier is not None:
        evidence = Evidence(carrier.document, carrier.sentence, question)
        prompt = answer_confirmation.write_prompt(question, answer, evidence)
        calls.append(call_model(client, model, prompt, **answer_confirmation.PARAMETERS))
    return calls


def main(
    cells: Annotated[list[Path], typer.Argument(metavar="FOLDER...", help="Cells of the pipeline `reader`.")],
    url: Annotated[str, typer.Option(help="The model server.", envvar="PREFRAG_TEST_MODEL_URL")],
    skip: Annotated[int, typer.Option(help="How many of the first questions of each cell to leave out.")] = 0,
    minutes: Annotated[float | None, typer.Option(help="Begin no question after this time.")] = None,
) -> None:
    """Ask the questions of these cells over the passages that their runs have found."""
    until = time.monotonic() + 60 * minutes if minutes is not None else float("inf")
    model = find_model(url)
    with httpx.Client(base_url=url, timeout=_SECONDS) as client:
        for cell in cells:
            folder = cell.parent / f"{cell.name}-states"
            folder.mkdir(exist_ok=True)
            asked = {prediction["id"] for prediction in read_cells(cell.parent).get(folder.name, ())}
            predictions = read_cells(cell.parent)[cell.name][skip:]
            # No sentence states a yes or a no, so the product weighs none.
            wanted = [line for line in predictions if not set(line["answers"]) & {"yes", "no"}]
            for prediction in wanted:
                if time.monotonic() > until:
                    return
                if prediction["id"] in asked:
                    continue
                calls = ask(client, model, prediction["question"], prediction["result"]["documents"])
                line = json.dumps({**prediction, "calls": calls}, ensure_ascii=False)
                with (folder / PREDICTIONS).open("a", encoding="utf-8") as file:
                    file.write(f"{line}\n")
                said = " -> ".join(call["reply"]["text"][:40] for call in calls)
                typer.echo(f"{folder.name} {prediction['id']}: {said}; {prediction['answers'][:1]}")


if __name__ == "__main__":
    typer.run(main)
