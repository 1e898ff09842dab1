"""The simulated reader: a chat generator that replies from the gold passages of a benchmark.

It takes the place of a language model in an evaluation, see :class:`SimulatedReader`.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from haystack import component, default_to_dict
from haystack.dataclasses import ChatMessage
from haystack.tools import Tool

from prefrag.components.both_ways import as_async
from prefrag.components.generators.model_host import THIS_MACHINE
from prefrag.components.generators.token_budget import rough_tokens
from prefrag.components.state.state import Label
from prefrag.evaluation.simulated_reader import replies
from prefrag.evaluation.simulated_reader.gold import (
    GoldQuestion,
    Passage,
    Shown,
    fold_words,
    load_gold,
    read_numbered,
    read_titles,
)
from prefrag.evaluation.simulated_reader.policy import Policy, draw, is_right, wrong_answer
from prefrag.evaluation.simulated_reader.prompts import Call, read_call
from prefrag.evaluation.simulated_reader.queries import find_wanted, keywords, queries


@component
class SimulatedReader:
    """A chat generator that replies from the gold passages of a benchmark instead of calling a language model.

    The reader replies to every prompt of the pipelines. It makes no mistakes of its own, unless its :class:`Policy`
    says so. So two pipelines differ only in the passages that they retrieve. The reader knows which passages a question
    needs, and uses this knowledge in only three ways:

    1. It searches for missing passages. A query contains a gold title or a gold answer only in one case: the title or
       answer is also in the question or in a shown passage.
    2. It answers correctly if and only if all gold passages were shown. For a yes/no question, the setting ``yes_no``
       says how many are enough. Any other answer scores 0 in every metric.
    3. As judge or reviewer, it tells the truth.

    The policy says how the reader decides and how often it is wrong. The fields of the policy are settings of the
    reader (see docs/evaluation.md).

    A passage counts as shown if its whole text stands below its title. So a page of the live web never counts. A
    passage from an index of shorter parts never counts either. The evaluation may show snippets of web passages
    (``web_sentences``). A snippet that contains what the question needs counts as its passage (see
    :meth:`GoldQuestion.is_in_snippet`). Other snippets count as irrelevant passages.

    CRAG may drop parts of a passage. The passage then counts if one part (a strip) remains. As CRAG's evaluator, the
    reader gives the highest score to gold passages and their strips. All others get the lowest score. If asked for
    keywords, it returns the question without stop words.

    Self-RAG shows the reader one passage at a time. The reader then answers correctly if and only if this passage is
    enough. Its critique of the passage is true. A gold passage supports the answer fully if it is enough, and otherwise
    partially. Any other passage is irrelevant. With the probability ``judge_error``, drawn for each passage, the
    critique is wrong. It then calls a gold passage irrelevant, or any other passage enough.

    The reader searches until no passage is missing, or until the limit in the prompt ("at most N times") is reached.
    Then it answers, as the agents of the papers do. It also answers if it has no new query. With ``stopping_error``, it
    may stop too early or too late. It gives no citations, and never labels an answer as PARTIALLY CORRECT.

    Every draw depends only on the seed, the question and the situation. So the order of concurrent runs makes no
    difference, and different methods are equally lucky in the same situation. All methods share one draw per question
    for the answer. This draw decides whether the answer is always wrong (``answer_error``). It also decides how many
    irrelevant passages make the answer wrong (``distraction``). Asking again never corrects the answer.

    ### Usage example:

    ```python
    from prefrag.evaluation.simulated_reader import SimulatedReader

    reader = SimulatedReader(questions="dev.jsonl", corpus="corpus.jsonl", judge_error=0.1)
    ```
    """

    # Where the model runs. No text leaves this machine.
    model_host = THIS_MACHINE
    # The number of tokens that a prompt may have, as a large model would allow.
    context_window = 131_072

    def __init__(
        self,
        questions: str | Sequence[str],
        corpus: str | Sequence[str],
        format: str = "auto",
        web_sentences: int = 0,
        **policy: Any,
    ):
        """Create a SimulatedReader component.

        :param questions: One or several files of questions.
        :param corpus: One or several files with the passages, among them the gold passages.
        :param format: The format of the files of questions. "auto" means that it is detected.
        :param web_sentences: The number of sentences of a passage that the web shows. 0 means all.
        :param policy: The fields of :class:`Policy`.
        :raises ValueError: If a setting is invalid.
        """
        if web_sentences < 0:
            raise ValueError(f"web_sentences is {web_sentences}: set it to 0 or more.")
        self.questions = _list_paths(questions)
        self.corpus = _list_paths(corpus)
        if not self.questions or not self.corpus:
            raise ValueError("`questions` and `corpus` each need a file: the reader must know the gold passages.")
        self.format = format
        self.web_sentences = web_sentences
        self.policy = Policy(**policy)

    def to_dict(self) -> dict[str, object]:
        """Serialize the component to a dictionary.

        :returns: The class and its parameters as plain values.
        """
        return default_to_dict(
            self,
            questions=self.questions,
            corpus=self.corpus,
            format=self.format,
            web_sentences=self.web_sentences,
            **asdict(self.policy),
        )

    def warm_up(self) -> None:
        """Read the files, unless they are cached because another instance has read them."""
        self._gold()

    @component.output_types(replies=list[ChatMessage])
    def run(
        self,
        messages: list[ChatMessage],
        generation_kwargs: dict[str, Any] | None = None,
        tools: list[Tool] | None = None,
    ) -> dict[str, list[ChatMessage]]:
        """Reply according to the policy and the gold passages in the prompt.

        :param messages: The messages of the prompt.
        :param generation_kwargs: The parameters of the call, such as the JSON schema of the reply.
        :param tools: The tools that the model may call.
        :returns: A dictionary with the key ``replies``: a list of one message.
        """
        return {"replies": [self._reply(messages, generation_kwargs, tools)]}

    run_async = as_async(run)

    def _gold(self) -> Mapping[str, GoldQuestion]:
        """Return all questions with their gold passages, by the text of the question."""
        return load_gold(self.questions, self.corpus, self.format, self.policy.yes_no, self.web_sentences)

    def _reply(
        self, messages: list[ChatMessage], generation_kwargs: Mapping[str, object] | None, tools: list[Tool] | None
    ) -> ChatMessage:
        """Read the call, decide what to reply, and count the tokens of the prompt and of the reply."""
        gold_of_questions = self._gold()
        call = read_call(messages, generation_kwargs, tools, gold_of_questions)
        gold = gold_of_questions[call.question]
        shown = gold.find_shown(call.text)

        match call.kind:
            case "verdict":
                reply = replies.verdict(self._verdict(call, gold, shown))
            case "reflection":
                reply = replies.reflection(self._label(gold, shown, call.answer))
            case "review":
                reply = replies.review(self._label(gold, shown, call.answer))
            case "question":
                reply = replies.write_object(question=call.question)
            case "relevance":
                reply = replies.write_object(**self._relevance(call, gold))
            case "keywords":
                reply = replies.write_object(query=keywords(call.question) or call.question)
            case "retrieval":
                # The reader never decides to answer from memory here, so it always decides to retrieve.
                reply = replies.write_object(explanation="Without a passage nothing is known.", retrieve="yes")
            case "critique":
                reply = replies.critique(self._answer(gold, shown), self._worth(call, gold, shown))
            case "summary":
                summary = _write_summary(gold, shown) or "Nothing in these passages bears on the question."
                reply = ChatMessage.from_assistant(summary)
            case _:
                reply = self._step(call, gold, shown)

        prompt_tokens = sum(rough_tokens("\n".join(_list_texts(message))) for message in messages)
        written = rough_tokens("\n".join(_list_texts(reply)))
        usage = {"prompt_tokens": prompt_tokens, "completion_tokens": written, "total_tokens": prompt_tokens + written}
        finish = "tool_calls" if reply.tool_calls else "stop"
        meta = {"model": "simulated", "simulated": True, "finish_reason": finish, "usage": usage}
        return ChatMessage.from_assistant(reply.text, tool_calls=reply.tool_calls, meta=meta)

    def _step(self, call: Call, gold: GoldQuestion, shown: Shown) -> ChatMessage:
        """Reply to the reasoner: search if that is allowed and useful, otherwise answer."""
        is_done = call.may_answer and self._is_done(call, gold, shown)
        if call.may_search and not is_done:
            search = self._choose_search(call, gold, shown)
            if search is not None:
                return replies.search(call, *search)
        text = self._answer(gold, shown)
        return replies.answer(call, text, self._label(gold, shown, text))

    def _is_done(self, call: Call, gold: GoldQuestion, shown: Shown) -> bool:
        """Check whether the reader answers now, although it could search again."""
        if call.most is not None and len(call.searches) >= call.most:
            return True
        return self._stops(call, gold, shown) or self._remembers(gold)

    def _stops(self, call: Call, gold: GoldQuestion, shown: Shown) -> bool:
        """Decide whether the passages are enough. The decision is wrong with the probability ``stopping_error``."""
        situation = ("stop", len(call.searches), sorted(shown.gold), shown.irrelevant)
        # Before the first search, nothing was shown that could be mistaken for enough.
        is_wrong = bool(call.searches) and self._draw(gold, *situation) < self.policy.stopping_error
        is_enough = gold.is_enough(shown)
        return not is_enough if is_wrong else is_enough

    def _choose_search(self, call: Call, gold: GoldQuestion, shown: Shown) -> tuple[str, str] | None:
        """Return the best pair of action and query that was not tried yet, or None if there is no such pair."""
        tried = {(tool, fold_words(query)) for tool, query in call.searches}
        possible_queries = list(queries(gold, shown.gold, call.transcript, self.policy.queries))
        if call.choices:
            own_queries = {fold_words(query) for query in possible_queries}
            # False sorts before True. So the choices that the reader would have asked for itself come first.
            possible_queries = sorted(call.choices, key=lambda choice: fold_words(choice) not in own_queries)
        if self.policy.second_try == "query":
            tried_queries = {query for _, query in tried}
            # Queries that no source was asked yet come first.
            possible_queries.sort(key=lambda query: fold_words(query) in tried_queries)

        tools = self._order_tools(call, gold, shown)
        for query in possible_queries:
            for tool in tools:
                if (tool, fold_words(query)) not in tried:
                    return tool, query
        return None

    def _order_tools(self, call: Call, gold: GoldQuestion, shown: Shown) -> Sequence[str]:
        """Return the actions in the order in which the reader tries them."""
        step = len(call.searches)
        tools = list(call.tools)
        match self.policy.source_choice:
            case "last":
                tools.reverse()
            case "drawn":
                tools.sort(key=lambda tool: self._draw(gold, "source", step, tool))
            case "oracle":
                wanted_passages = find_wanted(gold, shown.gold, call.transcript)
                tools.sort(key=lambda tool: -sum(_searches(tool, passage) for passage in wanted_passages))

        is_wrong = self._draw(gold, "wrong source", step) < self.policy.source_error
        # If the choice is wrong, the best source is tried last.
        return tools[1:] + tools[:1] if is_wrong else tools

    def _answer(self, gold: GoldQuestion, shown: Shown) -> str:
        """Answer correctly if enough was shown or the reader knows the answer by heart. Otherwise answer wrongly."""
        # If the dataset has no answers, the reader cannot answer correctly.
        has_enough = bool(gold.question.answers) and gold.is_enough(shown)
        # The probability that neither an error nor one of the irrelevant passages spoils the answer.
        unspoilt = (1 - self.policy.answer_error) * (1 - self.policy.distraction) ** shown.irrelevant
        is_right_by_passages = has_enough and self._draw(gold, "answer") < unspoilt
        if is_right_by_passages or self._remembers(gold):
            return gold.question.answers[0]
        return wrong_answer(gold.question, self.policy.seed)

    def _remembers(self, gold: GoldQuestion) -> bool:
        """Decide whether the reader knows the answer without any passage."""
        return bool(gold.question.answers) and self._draw(gold, "memory") < self.policy.memory

    def _label(self, gold: GoldQuestion, shown: Shown, answer: str) -> Label:
        """Say whether an answer is correct. The label is wrong with the probability ``reflection_error``."""
        right = is_right(gold.question, answer)
        if self._draw(gold, "label", right, sorted(shown.gold), shown.irrelevant) < self.policy.reflection_error:
            right = not right
        return Label.CORRECT if right else Label.INCORRECT

    def _worth(self, call: Call, gold: GoldQuestion, shown: Shown) -> int:
        """Judge the passage of Self-RAG: 2 if it is enough, 1 if it is a gold passage, otherwise 0.

        The judgement is wrong with the probability ``judge_error``.
        """
        if gold.is_enough(shown):
            worth = 2
        elif shown.gold:
            worth = 1
        else:
            worth = 0
        if self._draw(gold, "critique", read_titles(call.text), sorted(shown.gold)) < self.policy.judge_error:
            return 0 if worth else 2
        return worth

    def _verdict(self, call: Call, gold: GoldQuestion, shown: Shown) -> bool:
        """Say whether the new passages contain a gold passage that was not shown before.

        The verdict is wrong with the probability ``judge_error``.
        """
        new_gold = gold.find_shown(call.new).gold
        adds_gold = any(id not in shown.gold for id in new_gold)
        # The draw depends on these texts. Without " (local)", the draws and so the published results would change.
        titles = sorted(f"{title} (local)" for title in read_titles(call.new))
        is_wrong = self._draw(gold, "verdict", sorted(shown.gold), titles) < self.policy.judge_error
        return not adds_gold if is_wrong else adds_gold

    def _relevance(self, call: Call, gold: GoldQuestion) -> dict[str, int]:
        """Score each passage or strip for CRAG: 10 for a gold passage, 0 for any other.

        Errors have the rate ``judge_error``.
        """
        scores = {}
        for number, title, text in read_numbered(call.text):
            is_wrong = self._draw(gold, "relevance", title, text) < self.policy.judge_error
            is_gold = gold.is_part(title, text)
            says_relevant = not is_gold if is_wrong else is_gold
            scores[number] = 10 if says_relevant else 0
        return scores

    def _draw(self, gold: GoldQuestion, *situation: object) -> float:
        """Draw a number from 0 to 1 that depends on the seed, the question and the situation."""
        return draw(self.policy.seed, gold.question.id, *situation)


def _write_summary(gold: GoldQuestion, shown: Shown) -> str:
    """Summarise the gold passages that are shown: the title, text and citation of each."""
    summaries = []
    for passage in gold.passages:
        if passage.id in shown.gold:
            mark = shown.gold[passage.id]
            citation = f" [{mark}]" if mark else ""
            summaries.append(f"{passage.title}\n{shown.texts[passage.id]}{citation}")
    return "\n\n".join(summaries)


def _searches(tool: str, passage: Passage) -> bool:
    """Check whether a tool searches the source of a passage. A tool's name ends with the name of its source."""
    return passage.source in ("", "both") or tool.casefold().endswith(passage.source.casefold())


def _list_paths(files: str | Sequence[str]) -> list[str]:
    """Return one or several paths as a list."""
    if isinstance(files, str | Path):
        return [files]
    return [str(file) for file in files]


def _list_texts(message: ChatMessage) -> list[str]:
    """Return all texts of a message, also its tool calls and their results, to count its tokens."""
    calls = [f"{call.tool_name} {json.dumps(call.arguments, ensure_ascii=False)}" for call in message.tool_calls]
    results = [str(result.result) for result in message.tool_call_results]
    return [*message.texts, *calls, *results]
