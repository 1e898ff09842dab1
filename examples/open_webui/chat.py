"""Do what Open WebUI does, over the OpenAI protocol: list the models, stream an answer, and keep its steps apart.

python chat.py QUESTION, with the server in OPENAI_API_BASE_URL and its key in OPENAI_API_KEY.
"""

from __future__ import annotations

import os
import sys

from openai import OpenAI


def chat(client: OpenAI, model: str, question: str) -> None:
    """Stream an answer and print it as it comes: the steps, the sources by their numbers, and the text.

    :param client: A client of the server.
    :param model: One of the models that it lists.
    :param question: The question.
    """
    sources = 0
    chunks = client.chat.completions.create(model=model, messages=[{"role": "user", "content": question}], stream=True)
    for chunk in chunks:
        # Events are not part of OpenAI's own protocol, so the client has no name for this field.
        event = getattr(chunk, "event", None) or {"type": ""}
        if event["type"] == "status":
            print(event["data"]["description"])
        elif event["type"] == "source":
            sources += 1
            print(f"[{sources}] {event['data']['source']['name']}")
        for choice in chunk.choices:
            thought = getattr(choice.delta, "reasoning_content", None)
            print(thought or choice.delta.content or "", end="", flush=True)
    print()


if __name__ == "__main__":
    server = OpenAI(base_url=os.environ["OPENAI_API_BASE_URL"])
    models = [model.id for model in server.models.list()]
    print(f"Models: {', '.join(models)}")
    chat(server, models[0], sys.argv[1])
