"""The instructions of an operator, which stand before the prompt of a model that writes an answer."""

from __future__ import annotations

from prefrag.components.prompts.render_prompt import render_prompt


def put_instructions(prompt: str, instructions: str) -> str:
    """Put instructions before a prompt.

    :param prompt: The rendered prompt.
    :param instructions: The instructions of a run; empty where there are none.
    :returns: The prompt, which stays as it is without instructions.
    """
    return f"{render_prompt('instructions', instructions=instructions)}\n\n{prompt}" if instructions else prompt
