"""Read the parts of a reply that several formats share: tools, labels, queries and answers.

Models rarely write exactly what they are asked to write. They add introductions, Markdown, quotation marks or remarks.
The functions here take the wanted part out of such a text.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from prefrag.components.generators.json_reply import read_object
from prefrag.components.state.state import Label
from prefrag.components.text.sentences import cut_text

# A longer query is cut to this number of characters.
MAX_QUERY_CHARACTERS = 1_000
# A longer answer is cut to this number of characters before it is cleaned.
MAX_ANSWER_CHARACTERS = 4_000
# A thought, or a reply that cannot be read, is cut to this number of characters in the transcript.
KEPT_CHARACTERS = 2_000
# What the brackets of a citation can contain: "1kx, 2fb". A text with a full stop does not match.
_CITED = re.compile(r"[\w ,;-]{1,60}")
# A name before the answer, with its colon: "Answer: " in "Answer: 1969", "**Final answer:** ".
_PREFIX = re.compile(r"[*_`]*(?:final |short )?answer[*_`]*:[*_`]*\s+(?=\S)", re.IGNORECASE)
# A heading of Markdown with a letter, "## The answer", or a line in bold that only announces the answer: "**Answer**".
# "# 12" and "**Paris**" do not match, because they may be the answer itself.
_HEADING = re.compile(
    r"#{1,6}\s+(?=.*[^\W\d_])|(?:\*\*|__)(?:final |short )?(?:answer|response|result)(?:\*\*|__)$", re.IGNORECASE
)
# A list of JSON with texts, objects or lists in it: '["a", "b"]', '[{"a": 1}]'. "[1]" does not match.
_LIST = re.compile(r"\[\s*[\"'{\[].*\]", re.DOTALL)
# A line that separates paragraphs in Markdown: "---", "***".
_RULE = re.compile(r"[-*_=]{3,}")
# A LaTeX box around the answer, maybe with an introduction: "The answer is \boxed{42}." The group `answer` is "42". In
# "We add 3 and get \boxed{42}", nothing matches, because the text before the box is no introduction.
_BOXED = re.compile(
    r"(?:.{0,300}\b(?:answer|is|are|was|were))?\W{0,9}\\boxed\s{0,9}\{(?P<answer>[^{}]+(?:\{[^{}]*\}[^{}]*)*)\}\W*"
)
# A LaTeX command inside the box: "\text{Paris}". The group `answer` is "Paris".
_TEXT = re.compile(r"\\(?:text|math)\w*\s{0,9}\{(?P<answer>.*)\}")
# The beginning of an item in a list: "1. ", "12) ", "- ".
_LIST_ITEM = re.compile(r"(?:\d{1,3}[.)]|[-*\u2022])\s")
# The action of a model that wants to answer: "Final Answer", "finish".
FINISH = re.compile(r"final[ _]?answer|finish|answer", re.IGNORECASE)
# What models write as the action if they want no tool: "none", "N/A", "Finish", "no further search needed", "--". The
# name of a tool such as "Search_Engine" does not match.
_NO_TOOL = re.compile(
    rf"\W*(?:{FINISH.pattern}|(?:none|null|nothing|n/?a)\b.*"
    r"|no(?:t)?\b.*\b(?:need|required|necessary|more|further|action|search|tool).*|-*)\W*",
    re.IGNORECASE,
)
# A sentence with which a chat model introduces its answer. The four alternatives are, in order:
# - politeness: "Sure!", "Of course.";
# - what the model is going to do: "I will answer this now.", "Let me explain";
# - a pointer to the answer: "Here is the answer", "Based on the passages, here is it";
# - a name for the answer with a colon: "The final answer is:".
# In most words case is ignored, but not in "Let me" and "Here is": "Let Me In" is a title.
_LEAD_IN = re.compile(
    r"(?:sure|certainly|of course|okay|ok|great|thank you|thanks)\b[\w ,']{0,40}[.!:]*$"
    r"|.{0,200}\b(?-i:I will|I['\u2019]ll|[Ll]et me|[Ll]et us|I am going to|I'm going to)\b"
    r"|(?:.{0,200}[,:])?\s*(?-i:[Hh]ere is|[Hh]ere are|[Hh]ere['\u2019]s)\b"
    r"|(?:the |my |final |short )*answer(?: is)?\s*:$",
    re.IGNORECASE | re.DOTALL,
)
# The blanks between two sentences.
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
# Citations for the whole answer, on a separate line below the answer: "Sources: [1kx], [2fb]". The group `marks` is
# "[1kx], [2fb]". Citations on the same line as the answer do not match.
_CITED_BELOW = re.compile(
    r"\n\s{0,9}(?:\W{0,4}(?:sources?|citations?|references?|passages?)\W{1,4})?"
    r"(?P<marks>(?:\[[\w ,;-]{1,60}\][ ,;.]{0,3}){1,30})\s*\Z",
    re.IGNORECASE,
)
# Words with which a model announces a search.
_SEARCH_WORDS = r"(?:search|look|find|check|consult|query|retrieve|investigate|gather|know more|more information)"
# A statement of the model that it is going to search. Only statements about the model itself match: an answer may
# contain "Looking for Alaska" or "There is no need to search". The alternatives are, in order:
# - "I need to search for the founder", "we will look";
# - "Let me look this up";
# - "Need to find the year" or "Next, I search for it";
# - "I am searching for it", "Still looking for it";
# - "Searching for the founder", at the beginning of the text.
_ANNOUNCED = re.compile(
    r"\b(?:I|we)(?:['\u2019]ll| will| should| must| have to| need to| want to| would (?:like|need|have) to"
    r"| am going to)\b"
    rf".{{0,60}}\b{_SEARCH_WORDS}"
    rf"|\b(?:let me|let['\u2019]s|let us|I['\u2019]m going to)\b.{{0,40}}\b{_SEARCH_WORDS}"
    rf"|(?:^|[.!?:]\s+)need to\b.{{0,40}}\b{_SEARCH_WORDS}|\bnext,? I {_SEARCH_WORDS}\b"
    r"|\b(?:I am|I['\u2019]m|we are|we['\u2019]re|now|still) (?:searching|looking) (?:for|up)\b"
    r"|(?-i:^(?:Searching|Looking) (?:for|up) (?:the|a|an|more|information|any)\b)",
    re.IGNORECASE | re.DOTALL,
)
# The line at which an evaluation begins in the text format: "Self-Evaluation: CORRECT".
_EVALUATION = re.compile(r"^Self-Evaluation:", re.MULTILINE)


@dataclass(frozen=True)
class Tool:
    """A search tool that the model can call.

    :param name: The name of the action that calls the tool.
    :param description: What the tool is for, in words for the model.
    :param source: The source that the tool searches. None means that the router chooses the source.
    """

    name: str
    description: str
    source: str | None = None


# Words that negate a label: "not", "hardly", "far from", "isn't".
_NOT = (
    r"(?:not|never|hardly|barely|scarcely|neither|nor|far\s+from|anything\s+but|cannot\s+be|no\s+longer|by\s+no\s+means"
    r"|in\s+no\s+way|nowhere\s+near|less\s+than|fails?\s+to\s+be"
    r"|(?:is|was|are|were|does|do|ca|could|would|wo)n['\u2019]?t)"
)
# Words for a full degree. Negated, they mean a part: "not fully correct" is partially correct.
_DEGREE = r"(?:entirely|fully|quite|completely|wholly|totally|altogether|perfectly|strictly|all|100\s?%)"
# Words for a part: "partially", "mostly", "semi".
_PART = r"(?:semi|partial(?:ly)?|partly|mostly|largely|half|somewhat|nearly|almost)"
# The patterns by which a label is read, each with its label. Each pattern is removed from the text before the next is
# searched for. Longer labels come first, because they contain shorter labels: "incorrect" contains "correct". Letters
# and digits may not stand beside a label. Underscores may, because they are Markdown: "_CORRECT_". The patterns are:
# 1. "not incorrect": no label;
# 2. "not fully correct", "mostly correct", "correct but only in parts": PARTIALLY CORRECT;
# 3. "incorrect", "un-correct", "isn't correct": INCORRECT. But "not only correct" is not negated;
# 4. "correct": CORRECT.
_LABEL_WORDS: tuple[tuple[str, Label | None], ...] = (
    # "Not incorrect" counts as no label, because it may mean correct or only partially correct.
    (rf"{_NOT}\s+(?:\w+\s+)?(?:in[\s_-]?correct|wrong)", None),
    (
        rf"{_NOT}\s+(?:\w+\s+){{0,2}}?{_DEGREE}\s+correct|{_PART}[\s_-]*(?:(?:in)?correct|wrong|right)"
        r"|part[\s_-]*correct|correct,?\s+(?:(?:but|only|just)\s+){0,2}(?:in\s+parts?|partially|partly|incomplete)",
        Label.PARTIALLY_CORRECT,
    ),
    (
        rf"in[\s_-]?correct|(?:not|non|un)[_-]+correct|{_NOT}\s+(?:(?!only\b|just\b|merely\b)\w+\s+){{0,3}}?correct",
        Label.INCORRECT,
    ),
    (r"correct", Label.CORRECT),
)
_LABELS = tuple(
    (re.compile(rf"(?<![^\W_])(?:{words})(?![^\W_])", re.IGNORECASE), label) for words, label in _LABEL_WORDS
)
# Words such as "wrong" or "partly", at the beginning: "The answer is wrong". They count as a label only if the text
# contains no proper label.
_ALONE = re.compile(
    r"[\W_]{0,9}(?:the answer is |it is |it's )?(?:(?P<wrong>wrong)|partial(?:ly)?|partly)(?![^\W_])", re.IGNORECASE
)
# What separates a label from its reason: a stop or bracket, a dash between blanks, or a word such as "because". The
# prompt's list of labels, which a model may copy, has no such separator.
_REASON = re.compile(
    r"[.:(;\n]|\s[-\u2013\u2014]\s|,?\s(?:because|since|although|though|while)\b|,\s*(?:as|but|so|the|it|this|that)\b",
    re.IGNORECASE,
)
# Doubts about a label, before it ("unlikely to be CORRECT", "if it is correct") or behind it ("correct?", "correct
# answer not found"). Such a text is not read as any label. "no doubt correct" does not match.
_DOUBTED = re.compile(
    r"\b(?:no(?!\s+doubt)|none|nothing|(?<!without )(?<!beyond )(?<!no )doubt(?:s|ed|ful)?|unlikely|unclear|unsure"
    r"|unable|uncertain|if|whether|fail(?:s|ed)?)\b[^.:;\n]{0,200}\bcorrect(?![^\W_])"
    r"|(?<![^\W_])correct\b(?:\?|\s+\w+(?:\s+(?:is|was|could|has|were))?\s*(?:not|n't|nowhere|missing|unknown)\b)",
    re.IGNORECASE,
)


def read_label(text: str) -> Label | None:
    """Read a model's label for its answer from the label field of the reply.

    A negated label becomes another label: "not fully correct" is PARTIALLY CORRECT. Labels in the reason do not count:
    "CORRECT because nothing is incorrect" is CORRECT.

    :param text: The text of the label field. Only its first 1,000 characters are read.
    :returns: The label. None if the text has no label, or if the label is doubted, as in "unlikely to be CORRECT". Also
        None if there are several labels: the model has then probably copied the list of labels from the prompt.
    """
    text = text.strip()[:1_000]
    labels = _labels(text)
    if len(labels) > 1:
        # The reason behind a label may contain other labels.
        text, *_ = _REASON.split(text, maxsplit=1)
        labels = _labels(text)
    if len(labels) > 1:
        return None
    if labels == [Label.CORRECT] and _is_doubted(text):
        return None
    if labels:
        return labels[0]

    alone = _ALONE.match(text)
    if alone is None:
        return None
    return Label.INCORRECT if alone["wrong"] else Label.PARTIALLY_CORRECT


def _is_doubted(text: str) -> bool:
    """Check whether a text with the label CORRECT doubts it. A reason behind the label is left out."""
    before_reason, *_ = _REASON.split(text, maxsplit=1)
    labelled = before_reason if _labels(before_reason) else text
    return _DOUBTED.search(labelled) is not None


def _labels(text: str) -> list[Label]:
    """List the different labels in a text, for example the one label PARTIALLY CORRECT for "mostly correct"."""
    labels: list[Label] = []
    for pattern, label in _LABELS:
        text, count = pattern.subn(" ", text)
        if count and label is not None:
            labels.append(label)
    return labels


def plain(text: str) -> str:
    """Remove Markdown signs and quotation marks from both ends of a one-line text.

    For example, ``plain('**Paris**')`` and ``plain('"Paris"')`` return ``"Paris"``. Quotation marks that are not around
    the whole text stay, as in ``"A" and "B"``.

    :param text: The text, on one line.
    :returns: The text without these signs.
    """
    text = text.strip()
    while True:
        stripped = re.sub(r"^(?:[#>]+\s+|[*_`]+\s*)+", "", text).rstrip("*_` \n\t").strip()
        quote = stripped[:1]
        inner = stripped[1:-1]
        is_quoted = quote in ("'", '"') and len(stripped) > 1 and stripped.endswith(quote)
        # Only quotes around the whole text are removed. If there is a further quote inside, as in '"A" and "B"', the
        # quotes belong to single words.
        if is_quoted and quote not in inner:
            stripped = inner.strip()
        if stripped == text:
            return text
        text = stripped


def one_answer(text: str) -> str:
    """Clean an answer: remove introductions and remarks around it, and write it on one line.

    For example, an answer of three paragraphs, "Sure! Here is the answer:", "Paris [1kx]" and "I hope this helps.",
    becomes ``"Paris [1kx]"``. A list stays complete: the paragraphs "The stops are:", "1. Oslo" and "2. Bergen" become
    ``"The stops are: 1. Oslo 2. Bergen"``.

    :param text: The answer, as the model wrote it.
    :returns: The answer on one line, with its citations. Empty if nothing is left.
    """
    # Citations below the answer belong to the whole answer: they are added to the paragraph that is kept.
    text, marks = _split_marks_below(cut_text(text, MAX_ANSWER_CHARACTERS).strip())

    paragraphs = []
    for part in re.split(r"\n[ \t]*\n", text):
        paragraph = part.strip()
        if paragraph and not _RULE.fullmatch(paragraph):
            paragraphs.append(paragraph)
    while len(paragraphs) > 1 and _is_lead_in(paragraphs[0], paragraphs[1]):
        paragraphs.pop(0)
    if not paragraphs:
        return ""

    # The first paragraph is the answer, with further paragraphs if they are items of its list.
    first, *others = paragraphs
    answer_paragraphs = [_without_lead_in_lines(first)]
    if answer_paragraphs[0].endswith(":") or _LIST_ITEM.match(answer_paragraphs[0]):
        for paragraph in others:
            if not _LIST_ITEM.match(paragraph):
                break
            answer_paragraphs.append(paragraph)

    line = " ".join(" ".join(answer_paragraphs).split())
    prefix = _PREFIX.match(line)
    if prefix:
        line = line[prefix.end() :]

    begin_of_citations = _find_citations(line)
    answer = _unbox(plain(line[:begin_of_citations]))
    citations = line[begin_of_citations:].strip() or marks
    return f"{answer} {citations}".strip()


def _split_marks_below(text: str) -> tuple[str, str]:
    """Split an answer into the answer itself and the citation marks on a separate line below it, if there are any."""
    below = _CITED_BELOW.search(text)
    if below is None:
        return text, ""
    before = text[: below.start()].rstrip()
    if before.endswith(":"):
        # The line is what the text announces, and so the answer.
        return text, ""
    return before, "".join(re.findall(r"\[[^]]+\]", below["marks"]))


def _unbox(answer: str) -> str:
    r"""Return the content of ``\boxed{...}``, which models trained on mathematics put around an answer.

    For example, ``The answer is \boxed{42}.`` becomes ``42``. A text without such a box is returned unchanged.
    """
    boxed = _BOXED.fullmatch(answer)
    if boxed is None:
        return answer
    content = boxed["answer"].strip()
    text = _TEXT.fullmatch(content)
    return text["answer"].strip() if text else content


def _is_lead_in(paragraph: str, following: str) -> bool:
    """Check whether a paragraph only introduces the answer, such as "Sure! Here is the answer.".

    A paragraph that ends with a colon introduces the answer, unless a list follows: its heading is a part of the list.
    """
    if "\n" in paragraph or "[" in paragraph:
        return False
    if _HEADING.match(paragraph):
        return True
    if paragraph.endswith(":"):
        return _LIST_ITEM.match(following) is None
    # A paragraph with a number, a name in bold or a quotation may be the answer itself.
    if len(paragraph) >= 200 or re.search(r"[\d*\"]", paragraph):
        return False
    return all(_LEAD_IN.match(sentence) for sentence in _SENTENCE_END.split(paragraph))


def _without_lead_in_lines(paragraph: str) -> str:
    r"""Remove the lines that only introduce the answer: "Answer:\nParis" becomes "Paris"."""
    lines = [line.strip() for line in paragraph.split("\n")]
    while len(lines) > 1 and _is_lead_in_line(lines[0], lines[1]):
        lines.pop(0)
    return "\n".join(lines)


def _is_lead_in_line(line: str, following: str) -> bool:
    """Check whether a line is a heading, or introduces the answer, such as "Here is the answer:".

    A line that introduces a list is a part of the answer.
    """
    if _HEADING.match(line):
        return True
    if _LIST_ITEM.match(following) or not line.endswith(":"):
        return False
    return _LEAD_IN.match(line) is not None


def _find_citations(line: str) -> int:
    """Find the position at which the citations at the end of an answer begin.

    For example, it is 5 in "1969 [1kx][2fb].". Markdown and full stops behind the citations are ignored. If the answer
    ends without citations, the position is the length of the line.
    """
    end = len(line.rstrip(" .*_`"))
    place = end
    while True:
        closing = line[:place].rstrip(" ()")
        if not closing.endswith(("]", "\u3011")):
            break
        # A citation has at most 60 characters and its two brackets.
        earliest = max(0, len(closing) - 62)
        opening = max(closing.rfind("[", earliest), closing.rfind("\u3010", earliest))
        if opening < 0 or not _CITED.fullmatch(closing[opening + 1 : -1]):
            break

        place = opening
        has_parenthesis = line[opening - 1 : opening] == "("
        if has_parenthesis:
            place = opening - 1
    return len(line) if place == end else place


def announces_search(text: str) -> bool:
    """Check whether a text that should be an answer only says that the model is going to search.

    :param text: The text, such as "I need to search for the founder.". Only its first 2,000 characters are read.
    :returns: True if the text announces a search.
    """
    return _ANNOUNCED.search(text[:KEPT_CHARACTERS]) is not None


def with_evaluation(reply: str, label: Label, explanation: str, suggestions: str = "") -> str:
    r"""Add an evaluation to a reply, as if the model had written it. The model then sees it in the next step.

    For example, the reply "Final Answer: 1969" becomes "Final Answer: 1969\nSelf-Evaluation: CORRECT".

    :param reply: The reply, as a JSON object or in the text format. An evaluation of the model's own is replaced.
    :param label: The label of the answer.
    :param explanation: Why the label was chosen.
    :param suggestions: What would improve the answer.
    :returns: The reply with the evaluation, in the form of the reply.
    """
    values = read_object(reply) if reply.startswith("{") else None
    if values is not None:
        evaluation = {"label": label.value, "explanation": explanation, "suggestions": suggestions}
        return json.dumps({**values, **evaluation}, ensure_ascii=False)

    own_evaluation = _EVALUATION.search(reply)
    before = reply[: own_evaluation.start()].rstrip() if own_evaluation else reply
    lines = [before]
    fields = {"Self-Evaluation": label.value, "Explanation": explanation, "Improvement Suggestions": suggestions}
    for name, text in fields.items():
        if text:
            line = " ".join(text.split())
            lines.append(f"{name}: {line}")
    return "\n".join(lines)


def plain_query(text: object) -> str:
    """Take the query out of the quotes, Markdown or JSON object in which a model may have wrapped it.

    For example, ``plain_query('{"query": "harbour"}')`` returns ``"harbour"``.

    :param text: What the model wrote as its query.
    :returns: The query, of at most 1,000 characters. Empty if the input is not text, or if it is a JSON list.
    """
    if not isinstance(text, str):
        return ""
    beginning = text[: 4 * MAX_QUERY_CHARACTERS].strip()
    # Without the signs around a block of code.
    text = re.sub(r"^`+(?:json\b)?|`+$", "", beginning).strip()
    if text.startswith("{"):
        values = read_object(text) or {}
        if "query" in values:
            return plain_query(values["query"])
        strings = [value for value in values.values() if isinstance(value, str)]
        if strings:
            return plain_query(strings[0])
    if _LIST.fullmatch(text):
        return ""
    return cut_text(plain(" ".join(text.split())), MAX_QUERY_CHARACTERS)


def is_no_tool(text: str) -> bool:
    """Check whether a model's action says that the model wants no tool.

    :param text: The action or the input of the action, such as "none" or "No further search needed.".
    :returns: True if the model wants no tool.
    """
    return _NO_TOOL.fullmatch(" ".join(shorten(text).split())) is not None


def shorten(text: str) -> str:
    """Shorten a thought or an unreadable reply for the transcript.

    :param text: The text.
    :returns: The text, cut to at most 2,000 characters.
    """
    return cut_text(text, KEPT_CHARACTERS)


def find_tool(name: str, tools: Sequence[Tool]) -> Tool | None:
    """Find the tool with a name. Case, blanks and punctuation are ignored.

    For example, "search engine" finds the tool ``Search_Engine``.

    :param name: The name, as the model wrote it.
    :param tools: The tools.
    :returns: The tool. None if no tool has this name.
    """
    wanted = re.sub(r"[\W_]+", "", name).lower()
    return next((tool for tool in tools if re.sub(r"[\W_]+", "", tool.name).lower() == wanted), None)
