"""Do what Open WebUI does, over the OpenAI protocol: list the models, stream an answer, keep the steps apart from it.

python chat.py QUESTION, with the server in OPENAI_API_BASE_URL and its key in OPENAI_API_KEY.
"""

from __future__ import annotations

import os
import sys

from openai import OpenAI


def chat(client: OpenAI, model: str, question: str) -> tuple[str, str]:
    """Stream an answer and print it as it comes.

    :param client: A client of the server.
    :param model: One of the models that it lists.
    :param question: The question.
    :returns: The steps, which Open WebUI folds away as the model's reasoning, and the answer with its sources.
    """
    reasoning, answer = "", ""
    chunks = client.chat.completions.create(model=model, messages=[{"role": "user", "content": question}], stream=True)
    for chunk in chunks:
        for choice in chunk.choices:
            # The field is no part of OpenAI's own protocol, so the client has no name for it.
            step, text = getattr(choice.delta, "reasoning_content", None) or "", choice.delta.content or ""
            print(step or text, end="", flush=True)
            reasoning, answer = reasoning + step, answer + text
    print()
    return reasoning, answer


if __name__ == "__main__":
    server = OpenAI(base_url=os.environ["OPENAI_API_BASE_URL"])
    models = [model.id for model in server.models.list()]
    print(f"Models: {', '.join(models)}")
    chat(server, models[0], sys.argv[1])
