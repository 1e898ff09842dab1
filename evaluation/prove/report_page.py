"""Write the report of a proof as one HTML page, which loads nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path

from prefrag.components.text.counted import counted
from prefrag.evaluation.prove.figures import say_percent, worst
from prefrag.evaluation.prove.records import BoundFigures, Case, Proof, Rate
from prefrag.evaluation.prove.worlds import CHANGED, DENIED

# The style sheet of the page.
_STYLE = """
body { font: 1rem/1.5 system-ui, sans-serif; max-width: 56rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.4rem; }
td { padding: .2rem .8rem .2rem 0; }
article { border-top: 1px solid #8888; padding: .6rem 0; }
.open { border: 1px solid; border-radius: .3rem; padding: 0 .5rem; }
@media (prefers-color-scheme: dark) { body { background: #111; color: #eee; } a { color: #9cf; } }
"""

# The sentence of the report if the other reply format of the model is better.
_OTHER_IS_BETTER = "That is beyond chance: prefrag prove with --apply has the model use it from now on, on all folders."


def write_page(proof: Proof, cases: Sequence[Case]) -> str:
    """Write the report.

    :param proof: What was measured.
    :param cases: The records of the questions.
    :returns: The page.
    """
    further_lines = "".join(f"<p>{escape(line)}</p>" for line in say_beside(proof))
    tables = [_table(f"Kind of file: {kind}", rates) for kind, rates in proof["by_kind"].items()]
    articles = [_show(case, world) for case, world in worst(cases)] or ["<p>None was wrong.</p>"]
    body = "\n".join(
        [
            f"<h1>{escape(proof['sentence'])}</h1>",
            further_lines,
            _table("All", proof["rates"]),
            *tables,
            "<h2>The worst answers</h2>",
            *articles,
        ]
    )
    return (
        f'<!doctype html>\n<html lang="en"><meta charset="utf-8"><title>Proof of {escape(proof["collection"])}</title>'
        f"<style>{_STYLE}</style>\n<body>\n{body}\n</body></html>\n"
    )


def say_beside(proof: Proof) -> list[str]:
    """Write the lines that stand below the main sentence of the report.

    :param proof: What was measured.
    :returns: The lines.
    """
    strict = proof["bound_if_unseen_were_wrong"]
    hardest_third = proof["hardest_third"]
    threshold = proof["threshold"]
    lines = [
        f"Measured on {proof['date']}: {proof['asked']} of {proof['questions']} questions, at most one of a document, "
        "made from its own sentences. A document counts as wrong if any answer given as Stated was wrong: with its "
        "sentence, without it, with another value in it, denied, or in a second turn.",
        f"If each answer that was dropped because another sentence may have said the same were wrong: {_say(strict)}.",
        f"In the third of the questions that shares the fewest words with its sentence: {_say(hardest_third)}.",
    ]

    if proof["shared_words"] is not None:
        lines.append(f"On average a question shares {proof['shared_words']:.0%} of its words with its sentence.")
    if proof["written_by_model"]:
        lines.append(f"The model wrote {proof['written_by_model']} of the questions; the others are by form.")
    if proof["dropped"]:
        reasons = "; ".join(f"{number:,} because {reason}" for reason, number in sorted(proof["dropped"].items()))
        lines.append(f"Dropped before anything was asked: {reasons}.")
    if threshold and threshold["from"]:
        lines.append(
            f"If Stated is said only from a certainty of {threshold['from']:.3f}, chosen by the answers of "
            f"{proof['answerer']} in one half of the documents, then in the other half: {_say(threshold['measured'])}; "
            f"{threshold['lost']} answers are no longer stated there. prefrag prove with --apply uses it."
        )

    loops = proof["loops"]
    if loops:
        consequence = _OTHER_IS_BETTER if loops["chosen"] else "So the model keeps its loop."
        lines.append(
            f"The other loop of the model, {proof['other_loop']}, on {counted(loops['n'], 'question')}: better in "
            f"{loops['better']}, worse in {loops['worse']}; wrong in {loops['wrong_other']} instead of "
            f"{loops['wrong']}. {consequence}"
        )
    if proof.get("feedback"):
        lines.append(proof["feedback"])
    return lines


def _say(bound: BoundFigures) -> str:
    """Write a bound in words."""
    return f"{bound['wrong']} wrong of {bound['documents']} documents, at most {say_percent(bound['most'])}"


def _table(title: str, rates: Mapping[str, Rate]) -> str:
    """Write a table of rates with a heading. Rates without any trial are left out."""
    rows = []
    for name, rate in rates.items():
        if rate["n"]:
            rows.append(f"<tr><td>{escape(name)}</td><td>{rate['events']} of {rate['n']}</td></tr>")
    return f"<h2>{escape(title)}</h2><table>{''.join(rows)}</table>"


def _show(case: Case, world: str) -> str:
    """Write one of the worst answers, with a button that opens its file."""
    answer = case["worlds"][world]
    path = Path(case["document"])
    button = ""
    if path.is_absolute():
        button = f'<a class="open" href="{escape(path.as_uri())}">Open {escape(path.name)}</a>'
    # What differs in this world from the files. The names of all other worlds say it by themselves.
    change = {CHANGED: f"with {case['changed']}", DENIED: case["denied"]}.get(world, world)
    lines = {
        "Question": case["question"],
        "Answer": f"{answer['answer']} ({answer['verdict']}, {world})",
        "Read in": answer["evidence"],
        "Its sentence": case["sentence"],
        "In this world": change,
    }
    body = "<br>".join(f"<b>{name}:</b> {escape(text)}" for name, text in lines.items())
    return f"<article>{body}<br>{button}</article>"
