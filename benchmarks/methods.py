"""Count the model calls, retrievals and documents of each method, and check them against the rules of its paper.

Each pipeline runs twenty questions over the demo index and the corpus that replaces the web. The simulated model server
plays its script `methods`. There are five kinds of runs, from a single search to a run that never ends by itself, and
four questions of each kind.

    python -m benchmarks.methods                                     # every pipeline with rules
    python -m benchmarks.methods mspr dr_rag_qdc                     # pipelines in yaml_pipelines/, or YAML files
    python -m benchmarks.methods vanilla_local dr_rag_qdc --delay-ms 1000     # compare the seconds, too

The command fails if a method breaks a rule. A pipeline without rules is only counted.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import logging
import os
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.load import free_port, process
from prefrag import pipelines

Result = dict[str, Any]
QUESTIONS = Path(__file__).resolve().parent.parent / "demo" / "questions.jsonl"
KINDS = 5
TOP_K = 5


@dataclass(frozen=True)
class Run:
    """The counts of a run.

    :param reasoner: Calls of the reasoner.
    :param judge: Calls of the judge.
    :param local: Retrievals from the local source.
    :param web: Retrievals from the web.
    :param used: Retrievals whose documents were shown to the model.
    """

    reasoner: int
    judge: int
    local: int
    web: int
    used: int

    @classmethod
    def of(cls, result: Result) -> Run:
        """Read the counts of a result."""
        calls, counts = result["usage"]["calls"], result["counts"]
        return cls(
            calls.get("reasoner", 0), calls.get("judge", 0), counts["total_local"], counts["total_web"], counts["used"]
        )


@dataclass(frozen=True)
class Rule:
    """The rules of a method.

    :param statements: Statements of the paper, each with a function that checks the result of a run.
    :param runs: The exact counts for each kind of run, which follow from the paper's limits and the script. Empty if
        the paper leaves them open.
    """

    statements: dict[str, Callable[[Result], bool]]
    runs: Sequence[Run] = ()


def calls(result: Result, *callers: str) -> int:
    """Count the model calls of these components, by default of all components."""
    by_caller = result["usage"]["calls"]
    return sum(by_caller.get(caller, 0) for caller in callers or by_caller)


def steps(result: Result, action: str) -> list[dict[str, Any]]:
    """Return the steps that have this action and made a search."""
    return [step for step in result["steps"] if step["action"] == action and step["searched"]]


def supplements(result: Result) -> int:
    """Count the supplementary retrievals. Each is part of the step whose answer was doubted."""
    return len(steps(result, "answer"))


def _prefrag_counts(result: Result) -> bool:
    counts = result["counts"]
    switches = counts["total_local"] - counts["used_local"]
    used_of_web = counts["used"] - counts["used_local"]
    return used_of_web == counts["total_web"] == switches + supplements(result)


ONE_CALL = {"one model call (4.2)": lambda result: calls(result) == 1}
HARD_LIMIT = {
    "at most 3 + 1 replies and one forced answer (B.3)": lambda result: calls(result, "reasoner") <= 5,
    "no reflection: the first answer is final (table 2)": lambda result: supplements(result) == 0,
}
REFLECTING = {
    "at most 3 + 1 replies, one more after a supplement, and one forced answer (B.3)": lambda result: (
        calls(result, "reasoner") <= 6
    ),
    "at most one supplement (B.3)": lambda result: supplements(result) <= 1,
}
JUDGED = {
    "one judge call for each retrieval step but the first (equation 3)": lambda result: (
        calls(result, "judge") == max(0, len(steps(result, "search")) - 1)
    ),
    "the local source first in every step (3.2)": lambda result: all(
        step["searched"][0] == "local" for step in steps(result, "search")
    ),
    "used = kept local retrievals + all web retrievals; web = switches + supplements (A.6)": _prefrag_counts,
}
CHOSEN = {
    "no judge": lambda result: calls(result, "judge") == 0,
    "only one source per step; the next step may search another (A.4, 4.2)": lambda result: all(
        len(step["searched"]) == 1 for step in steps(result, "search")
    ),
}


def _documents(most: Callable[[Result], int]) -> dict[str, Callable[[Result], bool]]:
    return {
        "at most 5 documents (top-k) per used retrieval (4.1)": lambda result: len(result["documents"]) <= most(result)
    }


def _action(result: Result) -> str:
    """Return the action that CRAG's evaluator chose."""
    return next(str(event["action"]) for event in result["trace"] if event["kind"] == "evaluated")


USED = _documents(lambda result: TOP_K * result["counts"]["used"])
_CHOSEN_AND_REFLECTED = Rule(
    {**CHOSEN, **REFLECTING, **USED},
    (Run(2, 0, 1, 0, 1), Run(3, 0, 1, 1, 2), Run(4, 0, 2, 2, 4), Run(6, 0, 3, 2, 5), Run(5, 0, 2, 1, 3)),
)
_PREFRAG = Rule(
    {**JUDGED, **REFLECTING, **USED},
    (Run(2, 0, 1, 0, 1), Run(3, 1, 2, 0, 2), Run(4, 1, 3, 1, 4), Run(6, 2, 4, 2, 5), Run(5, 2, 3, 1, 3)),
)
_PATIENT = Rule(
    {
        **{text: keeps for text, keeps in JUDGED.items() if not text.startswith("used =")},
        "the other source after two False verdicts in a row": lambda result: (
            not any(
                len(after["searched"]) == 2 and before["verdict"]["status"]
                for before, after in itertools.pairwise(steps(result, "search"))
            )
        ),
        "a supplement searches only the other source": lambda result: all(
            step["searched"] == ["web"] for step in steps(result, "answer")
        ),
        "all retrievals are used": lambda result: result["counts"]["used"] == result["counts"]["total"],
        **REFLECTING,
        **USED,
    },
    (Run(2, 0, 1, 0, 1), Run(3, 1, 2, 0, 2), Run(4, 1, 2, 1, 3), Run(6, 2, 3, 1, 4), Run(5, 2, 3, 0, 3)),
)
_DR_RAG = Rule(
    {"one model call (DR-RAG, 2.2)": lambda result: calls(result) == 1}
    | {"at most k = 6 documents (DR-RAG, table 5)": lambda result: len(result["documents"]) <= 6}
)
_MSPR = Rule(
    {
        "the local source first (MSPR, III.C)": lambda result: result["steps"][0]["searched"] == ["local"],
        "one source per step (MSPR, III.B)": lambda result: all(
            len(step["searched"]) == 1 for step in steps(result, "search")
        ),
        "one label per local retrieval, none for the web (MSPR, III.A, III.C)": lambda result: (
            calls(result, "judge") == result["counts"]["total_local"]
        ),
        "after a local retrieval labelled False, the web is next (MSPR, III.C)": lambda result: all(
            after["searched"] == ["web"]
            for before, after in itertools.pairwise(step for step in result["steps"] if step["searched"])
            if before["verdict"] and not before["verdict"]["status"]
        ),
        "at most 5 replies (AWI), one more after a supplement, and one forced answer (MSPR, IV.A)": lambda result: (
            calls(result, "reasoner") <= 5 + supplements(result) + 1
        ),
        "at most one supplement (SRT), a web search for the question (MSPR, III.D)": lambda result: (
            [step["searched"] for step in steps(result, "answer")] in ([], [["web"]])
        ),
        "a review for each answer that is not forced (MSPR, III.D)": lambda result: (
            calls(result, "reviewer")
            == sum(step["action"] == "answer" and not step["forced"] for step in result["steps"])
        ),
        "at most sixteen calls and five retrievals": lambda result: (
            calls(result) <= 16 and result["counts"]["total"] <= 5
        ),
        **USED,
    },
    (Run(2, 1, 1, 0, 1), Run(3, 1, 1, 1, 2), Run(4, 1, 1, 2, 3), Run(7, 3, 3, 2, 5), Run(6, 2, 2, 2, 4)),
)
_RETRIEVALS = {"no_retrieval": (0,), "single_step": (1,), "multi_step": range(1, 9)}
_CRAG = Rule(
    {
        "one generation (CRAG, algorithm 1)": lambda result: calls(result, "reasoner") == 1,
        "one local retrieval, with the question (4.1)": lambda result: (
            result["counts"]["total_local"] == 1 and result["steps"][0]["query"] == result["question"]
        ),
        "one web retrieval after Incorrect or Ambiguous, none after Correct (4.3)": lambda result: (
            result["counts"]["total_web"] == calls(result, "rewriter") == (_action(result) != "correct")
        ),
        "after Incorrect, only passages of the web are shown (4.3)": lambda result: (
            _action(result) != "incorrect" or {document["source"] for document in result["documents"]} == {"web"}
        ),
        "a call scores the local documents, at most one their strips, and one the web's strips (4.4, 4.5)": (
            lambda result: 1 <= calls(result, "judge") <= 2 + result["counts"]["total_web"]
        ),
        "at most five strips per search (CRAG, B.2)": lambda result: all(
            sum(strip["kept"] for strip in event["strips"]) <= 5
            for event in result["trace"]
            if event["kind"] == "strips"
        ),
        **USED,
    }
)
_IRCOT = Rule(
    {
        "the question is the first query (IRCoT, 3.1)": lambda result: (
            result["steps"][0]["query"] == result["question"]
        ),
        "at most 8 sentences, and one call of the reader (IRCoT, 4)": lambda result: calls(result) <= 9,
        "one retrieval for the question, and one for each sentence but the last (IRCoT, 3.1)": lambda result: (
            result["counts"]["total"] == calls(result) - 1
        ),
        "at most 15 paragraphs (IRCoT, 4)": lambda result: len(result["documents"]) <= 15,
    }
)
_FLARE = Rule(
    {
        "one retrieval for the question, and one for each doubted sentence (FLARE, 3.2)": lambda result: (
            result["counts"]["total"]
            == 1 + sum(event["kind"] == "look_ahead" and bool(event["query"]) for event in result["trace"])
        ),
        "at most 16 sentences and one forced answer": lambda result: calls(result) <= 17,
    }
)
RULES = {
    "no_retrieval": Rule({**ONE_CALL, **USED}, (Run(1, 0, 0, 0, 0),) * KINDS),
    "vanilla_local": Rule({**ONE_CALL, **USED}, (Run(1, 0, 1, 0, 1),) * KINDS),
    "vanilla_web": Rule({**ONE_CALL, **USED}, (Run(1, 0, 0, 1, 1),) * KINDS),
    "vanilla_mix": Rule({**ONE_CALL, **USED}, (Run(1, 0, 1, 1, 2),) * KINDS),
    "react": Rule(
        {**CHOSEN, **HARD_LIMIT, **USED},
        (Run(2, 0, 1, 0, 1), Run(3, 0, 1, 1, 2), Run(3, 0, 1, 1, 2), Run(4, 0, 2, 1, 3), Run(5, 0, 2, 1, 3)),
    ),
    "react_mix": Rule(
        {
            "no judge": lambda result: calls(result, "judge") == 0,
            "as many local as web retrievals, all used (table 7)": lambda result: (
                result["counts"]["total_local"] * 2 == result["counts"]["total"] == result["counts"]["used"]
            ),
            **HARD_LIMIT,
            **USED,
        },
        (Run(2, 0, 1, 1, 2), Run(3, 0, 2, 2, 4), Run(3, 0, 2, 2, 4), Run(4, 0, 3, 3, 6), Run(5, 0, 3, 3, 6)),
    ),
    "prefrag": _PREFRAG,
    "prefrag_direct": _CHOSEN_AND_REFLECTED,
    "prefrag_without_preference": _CHOSEN_AND_REFLECTED,
    "prefrag_without_reflection": Rule(
        {**JUDGED, **HARD_LIMIT, **USED},
        (Run(2, 0, 1, 0, 1), Run(3, 1, 2, 0, 2), Run(3, 1, 2, 0, 2), Run(4, 2, 3, 1, 3), Run(5, 2, 3, 1, 3)),
    ),
    "prefrag_linked": _PREFRAG,
    "prefrag_patient": _PATIENT,
    "prefrag_classifier": Rule(
        {
            "no model call for a verdict": lambda result: calls(result, "judge") == 0,
            **{text: keeps for text, keeps in JUDGED.items() if not text.startswith("one judge call")},
            **REFLECTING,
            **USED,
        }
    ),
    "crag": _CRAG,
    "mspr": _MSPR,
    "mspr_linked": _MSPR,
    "self_rag": Rule(
        {
            "one retrieval, with the question (Self-RAG, 3.3)": lambda result: (
                result["counts"]["total"] == 1 and result["steps"][0]["query"] == result["question"]
            ),
            "one call per passage, which answers and critiques, and no others (Self-RAG, algorithm 1)": lambda result: (
                calls(result) == calls(result, "critic") == len(result["documents"])
            ),
            **USED,
        }
    ),
    "ircot": _IRCOT,
    "flare": _FLARE,
    "dr_rag_qdc": _DR_RAG,
    "dr_rag_linked": _DR_RAG,
    "dr_rag_cis": _DR_RAG,
    "dr_rag_cfs": _DR_RAG,
    "dr_rag_cfs_analysis": _DR_RAG,
    "adaptive_retrieval": Rule(
        {
            **ONE_CALL,
            **USED,
            "one retrieval if the popularity is too low, otherwise none (Adaptive Retrieval, 6)": lambda result: all(
                result["counts"]["total"] == event["retrieves"]
                for event in result["trace"]
                if event["kind"] == "popularity"
            ),
        }
    ),
    "adaptive_rag": Rule(
        {
            "one class per question, without a model (Adaptive-RAG, 3.2)": lambda result: (
                sum(event["kind"] == "question_class" for event in result["trace"]) == 1
                and calls(result) == calls(result, "reasoner")
            ),
            "no retrieval, one, or at most eight (IRCoT), as the class says (Adaptive-RAG, 3.1)": lambda result: (
                result["counts"]["total"] in _RETRIEVALS[result["question_class"]["chosen"]]
            ),
            "one call, or at most nine (IRCoT), as the class says (Adaptive-RAG, 3.1)": lambda result: (
                calls(result) == 1 or (result["question_class"]["chosen"] == "multi_step" and calls(result) <= 9)
            ),
        }
    ),
}


def questions(count: int, first: int) -> list[tuple[int, str]]:
    """Return demo questions, each after its kind of run. The token in a question makes the model play this kind."""
    texts = [json.loads(line)["question"] for line in QUESTIONS.read_text(encoding="utf-8").splitlines()]
    return [(n % KINDS, f"{texts[n % len(texts)].rstrip('?')} (Q-{first + n})?") for n in range(count)]


async def run_all(name: str, chosen: Iterable[tuple[int, str]]) -> list[tuple[int, Result]]:
    """Run the questions one after the other, and return the kind and the result of each."""
    pipeline = pipelines.load(name)
    pipeline.warm_up()
    return [(kind, await pipelines.ask_async(pipeline, question)) for kind, question in chosen]


def find_breaches(rule: Rule, runs: Sequence[tuple[int, Result]]) -> list[str]:
    """Describe the rules that a method breaks."""
    breaches = []
    for text, keeps in rule.statements.items():
        count = sum(not keeps(result) for _, result in runs)
        if count:
            breaches.append(f"{text}: broken in {count} of {len(runs)} runs")
    for kind, wanted in enumerate(rule.runs):
        counted = {Run.of(result) for k, result in runs if k == kind} - {wanted}
        breaches += [f"runs of kind {kind}: {run}, must be {wanted}" for run in counted]
    breaches += [f"a run had an error: {error}" for _, result in runs for error in result["errors"]]
    return breaches


def write_row(name: str, runs: Sequence[tuple[int, Result]], verdict: str) -> list[str]:
    """Return the row of a method in the table. Most columns are means per question."""
    results = [result for _, result in runs]

    def mean(value: Callable[[Result], float]) -> str:
        return f"{statistics.fmean(map(value, results)):.2f}"

    def count(key: str) -> str:
        return mean(lambda result: result["counts"][key])

    total = [calls(result) for result in results]
    counts = [count(key) for key in ("total_local", "total_web", "total", "used_local", "used")]
    return [
        name,
        f"{statistics.fmean(total):.2f}",
        str(max(total)),
        mean(lambda result: calls(result, "reasoner")),
        mean(lambda result: calls(result, "judge")),
        mean(lambda result: calls(result) - calls(result, "reasoner", "judge")),
        *counts,
        mean(lambda result: len(result["documents"])),
        str(sum(result["forced"] for result in results)),
        mean(lambda result: result["usage"]["seconds"]),
        verdict,
    ]


HEAD = (
    "method",
    "calls",
    "most",
    "reasoner",
    "judge",
    "other",
    "local",
    "web",
    "total",
    "used local",
    "used",
    "documents",
    "forced",
    "seconds",
    "rule",
)


def write_table(rows: Sequence[Sequence[str]]) -> str:
    lines = [HEAD, ["---"] + ["---:"] * (len(HEAD) - 2) + ["---"], *rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    written = []
    for line in lines:
        cells = [cell.ljust(width) for cell, width in zip(line, widths, strict=True)]
        written.append(f"| {' | '.join(cells)} |")
    return "\n".join(written)


def measure(names: Sequence[str], count: int) -> bool:
    """Print the table and the rules of each method, and return whether all methods kept their rules."""
    rows, lines, all_kept = [], [], True
    for number, name in enumerate(names):
        try:
            runs = asyncio.run(run_all(name, questions(count, 100_000 + 1_000 * number)))
        except (ValueError, RuntimeError) as error:
            rows.append([name, *["-"] * (len(HEAD) - 2), "NOT ok"])
            lines.append(f"{name}: NOT ok\n  the run failed: {error}")
            all_kept = False
            continue
        rule = RULES.get(name)
        wrong = find_breaches(rule, runs) if rule else []
        verdict = "NOT ok" if wrong else "ok"
        if rule is None:
            verdict = "none"
        all_kept = all_kept and not wrong
        rows.append(write_row(name, runs, verdict))
        if rule is not None:
            lines.append(f"{name}: {verdict}")
            lines += [f"  broken: {what}" for what in wrong]
            lines += [f"  {what}" for what in rule.statements]
    print(f"Means over {count} questions, except `most` (most model calls of a run) and `forced` (number of runs).\n")
    print(write_table(rows))
    print("\nThe rules of each method:")
    print("\n".join(lines))
    return all_kept


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="PIPELINE")
    parser.add_argument("--questions", type=int, default=20)
    parser.add_argument("--delay-ms", type=float, default=0.0, help="the delay of each model reply")
    options = parser.parse_args()
    names = options.names or [name for name in RULES if name in pipelines.names()]
    logging.disable(logging.INFO)
    port = free_port()
    model = f"http://127.0.0.1:{port}/v1"
    simulated = [sys.executable, "-m", "benchmarks.model_server", "--port", str(port), "--script", "methods"]
    with (
        tempfile.TemporaryDirectory() as data,
        process(*simulated, "--delay-ms", str(options.delay_ms), ready=f"{model}/models"),
    ):
        for name in list(os.environ):
            is_of_pipelines = name == "PREFRAG_PIPELINES_DIR" or name.startswith("PREFRAG_PAIR_")
            if name.startswith("PREFRAG_") and not is_of_pipelines:
                del os.environ[name]
        os.environ |= {"PREFRAG_DATA_DIR": data, "PREFRAG_LLM_BASE_URL": model, "PREFRAG_LLM_MODEL": "simulated"}
        if not measure(names, options.questions):
            raise SystemExit(1)


if __name__ == "__main__":
    main()
