"""Print a run in the terminal, for `prefrag ask` and `prefrag chat`.

Each event of the run is a line, below the heading of its step. At the end come the answer, its documents and numbers.
Texts of passages and models are put on a single line, so that they cannot control the terminal.
"""

import json
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.padding import Padding
from rich.style import Style
from rich.text import Text

from prefrag.components.state.events import EventData
from prefrag.components.state.result import FoundDocument, Result
from prefrag.components.state.state import Event, Label
from prefrag.components.text.counted import counted
from prefrag.components.text.distinct import distinct
from prefrag.components.text.one_line import one_line
from prefrag.components.text.unicode_form import is_text
from prefrag.pipelines import references
from prefrag.pipelines.sent_to_models import write_sent_to_models
from prefrag.pipelines.trace_text import trace_text


class RunPrinter:
    """Prints a run, step by step, for people.

    :param console: Where to print.
    :param quiet: Whether to print only the answer and how sure it is.
    """

    # The style of an event, by its kind. Kinds that are not listed have no style, or get it in `_choose_style`.
    STYLES = {
        "thought": "italic",
        "search": "cyan",
        "found": "dim",
        "observation": "dim",
        "strips": "dim",
        "critique": "dim",
        "answer": "bold",
        "unreadable": "yellow",
        "cut_off": "yellow",
        "filed_as_reasoning": "yellow",
        "unknown_action": "yellow",
        "exhausted": "yellow",
        "held_back": "yellow",
        "closed": "yellow",
        "cut": "yellow",
        "without_model": "yellow",
        "model_failed": "yellow",
        "error": "red",
    }

    def __init__(self, console: Console, quiet: bool = False):
        self.console = console
        self._quiet = quiet
        self._step = 0

    def print_question(self, question: str, without_model: bool, collections: Sequence[str] = ()) -> None:
        """Print the question.

        :param question: The question.
        :param without_model: Whether no language model is set. If so, it is also printed how to set a model.
        :param collections: The names of the collections that are searched. They are printed below the question.
        """
        if self._quiet:
            return
        self._print(f"Question: {one_line(question)}", "bold")
        if collections:
            names = ", ".join(one_line(name) for name in collections)
            self._print(f"Asked: {names}", "dim")
        if without_model:
            self._print(
                "No language model is set, so a small extractive reader looks for the answer. For a model server, set "
                "PREFRAG_LLM_BASE_URL and PREFRAG_LLM_MODEL. For a GGUF file, set PREFRAG_LLM_GGUF (extra llama).",
                "dim",
            )

    def print_event(self, event: Event) -> None:
        """Print an event below the heading of its step. The first event of a step prints the heading.

        :param event: The event.
        """
        if self._quiet:
            return
        if event.step > self._step:
            self._step = event.step
            self.console.print()
            self._print(f"Step {event.step}", "bold blue")
        self._print(trace_text(event), self._choose_style(event), indent=2)

    def print_result(self, result: Result, trace: bool, failure: str | None) -> None:
        """Print the end of a run: the answer, its documents, what failed on the way, and numbers.

        :param result: The result of the run.
        :param trace: Whether to print the whole trace, too.
        :param failure: The message of the error if the run broke off. The caller prints it. None otherwise.
        """
        if not self._quiet:
            self.console.print()
        self._print_answer(result)
        has_answer = result.get("answered") or references.answer_parts(result)
        if failure is None and not has_answer:
            self._print_evidence(result)
        if self._quiet:
            return

        self._print_documents(result)
        for error in result.get("errors") or ():
            if error != failure:
                self._print(f"Problem: {one_line(error)}", "yellow")
        self.console.print()
        if "counts" in result:
            self._print_numbers(result)
        if trace:
            self._print_heading("Trace")
            for event in result.get("trace") or ():
                self._print(json.dumps(event, ensure_ascii=False))

    def _print_numbers(self, result: Result) -> None:
        """Print how much was searched and called, and what left this machine or was held back."""
        self._print(_write_counts(result), "dim")
        self._print(_write_queries_sent_out(result), "dim")
        for query in result.get("queries_held_back") or ():
            data: EventData = {"source": query["source"], "query": query["query"], "reason": query["reason"]}
            self._print(trace_text(Event("held_back", 0, data)), "yellow")
        for line in write_sent_to_models(result):
            self._print(line, "yellow")

    def _print_answer(self, result: Result) -> None:
        """Print the answer: in the sentence of its passage, or else in the words of the model."""
        parts = references.answer_parts(result)
        if parts:
            line = Text(parts.before)
            if parts.answer and not self.console.is_terminal:
                # Without a terminal there is no bold type. Then put the signs of Markdown around the answer.
                line.append(f"**{parts.answer}**")
            else:
                line.append(parts.answer, "bold")
            line.append(parts.behind)
            line.append(parts.source, "dim")
            self._print_text(line)
        else:
            self._print_answer_of_model(result)
        if result.get("answer") and result.get("answered_by") != "reader":
            for sentence in result.get("unsupported") or ():
                self._print(f"{references.UNSUPPORTED} {one_line(sentence)}", "yellow")
            self._print(references.label_text(result))

    def _print_answer_of_model(self, result: Result) -> None:
        """Print an answer in the model's own words, and the sentences that support it. Print nothing without one."""
        answer = result.get("answer_with_citations") or result.get("answer")
        if not answer:
            return
        # The word that says how sure the answer is, if code has checked the answer.
        certainty_word = references.GIVEN.get(result.get("certainty") or "")
        is_correct = result.get("label") == Label.CORRECT and not result.get("forced")
        style = "bold"
        if not certainty_word and result.get("citations") and is_correct:
            # Green shows that the answer can be relied on. Such an answer cites passages and is labelled CORRECT.
            style = "bold green"
        self._print(f"{certainty_word or 'Answer'}: {one_line(answer)}", style)
        for text in references.evidence_texts(result):
            self._print(text, "dim", indent=2)

    def _print_evidence(self, result: Result) -> None:
        """Print what there is instead of an answer: a question to the user, or the sentences that were found."""
        asked_back = result.get("asked_back")
        if asked_back:
            self._print(one_line(asked_back), "bold")
            return

        evidence = references.evidence_texts(result)
        heading = references.not_answered_text(result)
        if not evidence and heading == references.NOT_ANSWERED:
            # That text stands above sentences, and here there are none.
            heading = "Not answered."
        self._print(heading, "bold yellow")
        for text in evidence:
            self._print(text, indent=2)
        words = references.unconfirmed_words(result)
        if words:
            self._print(f"{references.OWN_WORDS.capitalize()} {one_line(words)}", "dim")

    def _print_documents(self, result: Result) -> None:
        """Print a line about each document that the model saw, with its best sentence."""
        why_ungrounded = references.ungrounded_text(result)
        if why_ungrounded:
            self._print(f"{why_ungrounded.capitalize()}: the answer is the model's own.", "yellow")
        marked_documents = references.references(result)
        if not marked_documents:
            return

        self._print_heading("Documents")
        quoted = references.quoted_marks(result)
        for mark, document in marked_documents:
            # The mark of a web page begins with "W".
            style = "magenta" if mark.startswith("W") else ""
            line = Text(references.reference_text(mark, document), style)
            self._print_text(_link(line, mark, document), indent=2)
            sentence = "" if mark in quoted else references.sentence_text(document)
            if sentence:
                self._print(sentence, "dim", indent=6)
        if references.cites_nothing(result):
            self._print("The answer cites no passage.", "dim", indent=2)

    def _choose_style(self, event: Event) -> str:
        """Return the style of an event. For some kinds it depends on how the step has ended."""
        if event.kind == "verdict":
            return "green" if event.data.get("status") else "yellow"
        if event.kind == "evaluated":
            return "green" if event.data.get("action") == "correct" else "yellow"
        if event.kind == "reflection":
            return "yellow" if event.data.get("supplement") else "green"
        if event.kind in ("read", "checked"):
            return "dim" if event.data.get("certainty") == "not_found" else "bold"
        if event.kind == "found" and event.data.get("error"):
            return "red"
        return self.STYLES.get(event.kind, "")

    def _print_heading(self, text: str) -> None:
        self.console.print()
        self._print(text, "bold blue")

    def _print(self, text: str, style: str = "", indent: int = 0) -> None:
        self._print_text(Text(text, style), indent)

    def _print_text(self, line: Text, indent: int = 0) -> None:
        """Print a line with styles, behind a number of blanks."""
        if self.console.soft_wrap:
            self.console.print(Text(" " * indent) + line)
        else:
            # Padding also indents wrapped lines.
            self.console.print(Padding(line, (0, 0, 0, indent), expand=False))


def _link(line: Text, mark: str, document: FoundDocument) -> Text:
    """Turn the web address or the name of the file in a line into a link. Terminals without links show a plain line."""
    file = str(document.get("file") or "")
    url = str(document.get("url") or "")
    # Passages of the web and attached passages come from no file of this machine.
    is_own = not mark.startswith(("W", "A"))
    target = url
    if is_own and not url:
        target = _link_of_file(file, document.get("page"))

    shown = one_line(references.without_marks(url or file))
    begin = line.plain.rfind(shown) if shown else -1
    if target and begin >= 0:
        line.stylize(Style(link=target), begin, begin + len(shown))
    return line


def _link_of_file(file: str, page: object) -> str:
    """Return the address of a file on this machine. For a PDF, also of the page. Empty if no link can be made."""
    if not Path(file).is_absolute() or not is_text(file):
        return ""
    address = Path(file).as_uri()
    if file.lower().endswith(".pdf") and type(page) is int:
        address += f"#page={page}"
    return address


def _write_counts(result: Result) -> str:
    """Write how many searches and model calls there were, how many tokens, and how long the run took."""
    counts = result["counts"]
    searches = ", ".join(f"{numbers['total']} {source}" for source, numbers in counts["sources"].items())
    retrievals = counted(counts["total"], "retrieval")

    usage = result["usage"]
    calls = "no model call"
    if usage["llm_calls"]:
        calls = counted(usage["llm_calls"], "model call")
        read = counted(usage["prompt_tokens"], "token")
        cached = f" ({usage['cached_tokens']:,} from the server's cache)" if usage.get("cached_tokens") else ""
        calls += f", {read} read{cached} and {usage['completion_tokens']:,} written"
    return f"{retrievals} ({searches}), {calls}, {usage['seconds']:.1f} s."


def _write_queries_sent_out(result: Result) -> str:
    """Write which queries were sent to the web, or that none was."""
    sent = [f"{query['source']}: {one_line(query['query'])}" for query in result.get("queries_sent_out") or ()]
    if sent:
        # A query may have been sent several times, in several attempts. Write it once.
        queries = "; ".join(distinct(sent))
        return f"Queries sent to the web: {queries}"
    searches_of_web = result["counts"]["sources"].get("web", {}).get("total")
    if searches_of_web:
        return "No query was sent to the web; a local index was searched in its place."
    return "No query was sent to the web."
