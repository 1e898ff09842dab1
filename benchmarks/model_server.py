"""A simulated OpenAI-compatible model server that sends scripted replies after a fixed delay.

It is a bare ASGI application, so that it needs little of the machine that it shares with the measured programs.

    python benchmarks/model_server.py --port 9000 --delay-ms 300
    PREFRAG_LLM_BASE_URL=http://127.0.0.1:9000/v1 PREFRAG_LLM_MODEL=simulated prefrag ask "Where was Q-12345 born?"

The script ``prefrag`` plays a run of three searches, four reasoner calls and two verdicts, the first True and the
second False. The script ``methods`` plays five kinds of runs (see MethodsScript) for any of the shipped pipelines. If
the question has a token such as Q-12345, every query, analysis and answer repeats it. So a client can check that the
reply is for its own question. A script can also be a JSON file with a list of ``{"contains": ..., "reply": ...}``. The
first entry whose text is in the prompt gives the reply.
"""

from __future__ import annotations

import asyncio
import json
import math
import re
import socket
from collections import Counter
from collections.abc import Awaitable, Callable, MutableMapping
from pathlib import Path
from typing import Annotated, Any

import typer
import uvicorn

Script = Callable[[str], str]

_TOKEN = re.compile(r"\bQ-\d+\b")
QUESTION = re.compile(r"^\W*(?:original |last )?question\W*:[ \t]*(.+)$", re.IGNORECASE | re.MULTILINE)
_OBSERVED = re.compile(r"^(?:Observation|Passages):", re.MULTILINE)
_MUST_ANSWER = re.compile(r"No further search is possible|Read the passages and answer")
_SENTENCES, _NEXT_SENTENCE = "Sentences so far:\n", "Next sentence:"
_HOPS = ("first", "second", "third", "fourth", "fifth", "sixth")
_NUMBERED = re.compile(r"^\[(\d+)\] ", re.MULTILINE)
_TOOLS = re.compile(r"^Action: (?:.* exactly as )?(.+)$", re.MULTILINE)


class PrefragScript:
    """The replies of a PrefRAG run. They depend only on the prompt, except that verdicts alternate."""

    def __init__(self) -> None:
        # The tokens of runs that had their first verdict. The second verdict removes the token again.
        self._judged: set[str] = set()

    def __call__(self, prompt: str) -> str:
        """:param prompt: What is sent to the model. :returns: The reply of the model."""
        questions = list(QUESTION.finditer(prompt))
        question = questions[-1][1].strip() if questions else ""
        token = (_TOKEN.search(question) or _TOKEN.search(prompt) or [""])[0]
        if '"status"' in prompt:
            return self._verdict(token)
        if '"suggestions"' in prompt:
            return json.dumps({"explanation": f"Supported for {token}.", "label": "CORRECT", "suggestions": ""})
        if '"question"' in prompt:
            return json.dumps({"question": question})
        after = questions[-1].end() if questions else 0
        searches = len(_OBSERVED.findall(prompt, after))
        must_answer = _MUST_ANSWER.search(prompt) is not None
        hop = None if must_answer or searches >= 3 else _HOPS[searches]
        return _json_step(hop, question, token) if "Final_Answer" in prompt else _text_step(hop, question, token)

    def _verdict(self, token: str) -> str:
        is_first = token not in self._judged
        if is_first:
            self._judged.add(token)
        else:
            self._judged.discard(token)
        return json.dumps({"analysis": f"Compared for {token}.", "status": str(is_first)})


class MethodsScript:
    """The replies of five kinds of runs, for every shipped method that replies as text. Q-N plays the kind N % 5.

    0. One search, then the answer.
    1. Two searches, then the answer.
    2. Two searches, then an answer that is doubted. After the supplementary retrieval, the same answer again.
    3. Three searches, then an answer that is doubted. After the supplementary retrieval, searches that never stop.
    4. Searches that never stop.

    For these five kinds, the scores for CRAG's evaluator mean Correct, Incorrect, Ambiguous, Correct, Incorrect.

    If there are several tools, the runs take them in turn. The verdicts of a run alternate between True and False. To
    doubt an answer, the reply labels it INCORRECT if the prompt asks for a label. Otherwise the first review rejects
    it. A prompt without tools gets an answer. In a chain of thought, each sentence but the last leads to a search. Its
    first token has a low probability.
    """

    SEARCHES = (1, 2, 2, 3, len(_HOPS))
    DOUBTED = (2, 3)
    RELEVANCE = (10, 0, 5, 10, 0)

    def __init__(self) -> None:
        # How many verdicts and reviews each token had. So a token must be used for one run only.
        self._given: Counter[tuple[str, str]] = Counter()

    def __call__(self, prompt: str) -> str:
        """:param prompt: What is sent to the model. :returns: The reply of the model."""
        questions = list(QUESTION.finditer(prompt))
        question = questions[-1][1].strip() if questions else ""
        token = (_TOKEN.search(question) or _TOKEN.search(prompt) or ["Q-0"])[0]
        kind = int(token[2:]) % len(self.SEARCHES)
        if '"effectiveness"' in prompt:
            holds = kind not in self.DOUBTED or self._earlier("review", token) > 0
            aspects = dict.fromkeys(("effectiveness", "completeness", "correctness"), f"Reviewed for {token}.")
            return json.dumps({**aspects, "label": str(holds)})
        if '"status"' in prompt:
            is_kept = self._earlier("verdict", token) % 2 == 0
            return json.dumps({"analysis": f"Compared for {token}.", "status": str(is_kept)})
        if '"question"' in prompt:
            return json.dumps({"question": question})
        if '{"query": "' in prompt:
            return json.dumps({"query": f"keywords of {question}"})
        if '"support"' in prompt:
            critique = {"relevance": "relevant", "answer": f"answer {token}", "support": "fully", "usefulness": 5}
            return json.dumps(critique)
        if numbers := _NUMBERED.findall(prompt):
            return json.dumps(dict.fromkeys(numbers, self.RELEVANCE[kind]))
        if prompt.endswith(_NEXT_SENTENCE):
            sentences = prompt.rpartition(_SENTENCES)[2].count("\n") - 1
            # Before the first sentence, there was already a search for the question.
            if kind < len(self.SEARCHES) - 1 and sentences >= self.SEARCHES[kind] - 1:
                return f"So the answer is: answer {token}."
            return f"The {_HOPS[min(sentences, len(_HOPS) - 1)]} hop of {token} is found."
        tools = _TOOLS.search(prompt)
        if tools is None or _MUST_ANSWER.search(prompt):
            return _text_step(None, question, token)
        transcript = prompt[questions[-1].end() :]
        searches = len(_OBSERVED.findall(transcript))
        answered = "Final Answer:" in transcript
        names = tools[1].split(" or ")
        asks_again = answered and kind == 3
        if searches < self.SEARCHES[kind] or asks_again:
            return _text_step(_HOPS[min(searches, len(_HOPS) - 1)], question, token, names[searches % len(names)])
        doubted = kind in self.DOUBTED and not answered
        return _text_step(None, question, token, label="INCORRECT" if doubted else "CORRECT")

    def _earlier(self, what: str, token: str) -> int:
        self._given[what, token] += 1
        return self._given[what, token] - 1


def _text_step(hop: str | None, question: str, token: str, tool: str = "Search_Engine", label: str = "CORRECT") -> str:
    if hop is None:
        return (
            "Thought: I now know the final answer to the original question\n"
            f"Final Answer: answer {token}\nSelf-Evaluation: {label}\nExplanation: The passages of {token} say so."
        )
    return f"Thought: The {hop} hop is missing.\nAction: {tool}\nAction Input: {hop} hop of {question}\n"


def _json_step(hop: str | None, question: str, token: str) -> str:
    if hop is None:
        step = {
            "thought": "The passages say so.",
            "action": "Final_Answer",
            "answer": f"answer {token}",
            "label": "CORRECT",
            "explanation": f"The passages of {token} say so.",
        }
    else:
        step = {"thought": f"The {hop} hop is missing.", "action": "Search_Engine", "query": f"{hop} hop of {question}"}
    return json.dumps(step)


def read_script(name: str) -> Script:
    """:param name: ``prefrag``, ``methods`` or a JSON file. :returns: A function from a prompt to the reply."""
    if name in ("prefrag", "methods"):
        return PrefragScript() if name == "prefrag" else MethodsScript()
    table = [(entry["contains"], entry["reply"]) for entry in json.loads(Path(name).read_text(encoding="utf-8"))]
    return lambda prompt: next((reply for text, reply in table if text in prompt), "No entry of the script fits.")


Message = MutableMapping[str, Any]


class ModelServer:
    """The ASGI application.

    :param script: Gives the reply to a prompt.
    :param delay: The seconds before each reply.
    """

    def __init__(self, script: Script, delay: float):
        self._script = script
        self._delay = delay

    async def __call__(
        self, scope: Message, receive: Callable[[], Awaitable[Message]], send: Callable[[Message], Awaitable[None]]
    ) -> None:
        """Serve one request."""
        body = b""
        while True:
            message = await receive()
            body += message.get("body", b"")
            if not message.get("more_body"):
                break
        status: int = 404
        reply: dict[str, Any] = {"error": {"message": f"There is no {scope['path']}."}}
        if scope["method"] == "GET" and scope["path"] == "/v1/models":
            status, reply = 200, {"object": "list", "data": [{"id": "simulated", "object": "model"}]}
        elif scope["method"] == "POST" and scope["path"] == "/v1/chat/completions":
            request = json.loads(body)
            await asyncio.sleep(self._delay)
            status, reply = 200, self._completion(request)
        payload = json.dumps(reply).encode()
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(payload)).encode())]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": payload})

    def _completion(self, request: dict[str, Any]) -> dict[str, Any]:
        prompt = "\n".join(str(message.get("content")) for message in request["messages"])
        text = self._script(prompt)
        choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
        if request.get("logprobs"):
            first = math.log(0.99 if "answer" in text else 0.3)
            tokens = re.findall(r"\S+\s*", text)
            # All tokens are as good as certain but the first.
            logprobs = [{"token": token, "logprob": -0.01} for token in tokens]
            if logprobs:
                logprobs[0]["logprob"] = first
            choice["logprobs"] = {"content": logprobs}
        prompt_tokens, completion_tokens = len(prompt) // 4, len(text) // 4
        return {
            "id": "chatcmpl-simulated",
            "object": "chat.completion",
            "created": 0,
            "model": request.get("model", "simulated"),
            "choices": [choice],
            "usage": {
                "prompt_tokens": prompt_tokens,
                "completion_tokens": completion_tokens,
                "total_tokens": prompt_tokens + completion_tokens,
            },
        }


def main(
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port; 0 takes a free one.")] = 9000,
    delay_ms: Annotated[float, typer.Option(help="Milliseconds before each reply.")] = 300.0,
    script: Annotated[str, typer.Option(help="`prefrag`, `methods`, or a JSON file of replies.")] = "prefrag",
) -> None:
    """Serve scripted replies until the process is stopped."""
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind((host, port))
    typer.echo(f"Simulated model server: http://{host}:{listener.getsockname()[1]}/v1")
    config = uvicorn.Config(
        ModelServer(read_script(script), delay_ms / 1_000), log_level="warning", access_log=False, lifespan="off"
    )
    uvicorn.Server(config).run(sockets=[listener])


if __name__ == "__main__":
    typer.run(main)
