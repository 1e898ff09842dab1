"""Check whether a query to the web was made from a person's question, and cut private statements out of the query.

A query must not carry private text to the web, such as a sentence about a contract beside the question. In doubt, a
text counts as private.

The steps for each query:

1. :func:`web_query` replaces each message that stands in the query by its question. :func:`split_question` finds it.
2. :func:`reason_to_withhold` then checks the query and returns why the query may not be sent, or an empty text. It
   calls :func:`is_question` for the message. After that, it compares the words of the query with the statements, the
   earlier answers, the system prompt and the passages of the run.
"""

import re
from collections.abc import Iterable, Sequence
from contextvars import ContextVar

from prefrag.components.state.state import State
from prefrag.components.text.sentences import plain_sentences
from prefrag.components.text.term_statistics import QUESTION_WORDS, passage_text
from prefrag.components.text.unicode_form import UNSPACED_SCRIPTS
from prefrag.components.web.query_form import comparison_form
from prefrag.components.web.question_in_message import QUESTION_MARK, TASK_ON_TEXT, is_question, split_question
from prefrag.settings import settings

# The whole message as a web query, if the person has seen this query and allowed it for this run. Otherwise None.
allowed_query: ContextVar[str | None] = ContextVar("allowed_query", default=None)
# Two reasons of `reason_to_withhold`. The caller of the run sees them.
NO_QUESTION = "the message holds a conversation or a text, not just a question; ask the question by itself"
NO_QUESTION_MARK = "under a system prompt only a question with its question mark is sent"

# A query that repeats this many words of a passage in a row counts as a copy. A shorter run of words may be a name.
COPIED_WORDS = 5
# A digit of any script.
_DIGIT = re.compile(r"\d")
# One word to compare (group 2), or each two neighbouring characters of a script without spaces (group 1). In "built
# 船舶造", the matches are "built", "船舶" and "舶造".
_TOKEN = re.compile(rf"(?=([{UNSPACED_SCRIPTS}]{{2}}))[{UNSPACED_SCRIPTS}]|([^\s{UNSPACED_SCRIPTS}]+)")


def web_query(query: str, state: State) -> tuple[str, list[str]]:
    """Replace each message of the person that stands as a whole in a query by the question of the message.

    A message may stand in the query as it was written, or with each run of blanks and line breaks as one blank. For
    example, the query "We sold the yard in 1974. What is it worth?" becomes "What is it worth?" if the person wrote it.

    :param query: The query, as a model or the rules made it.
    :param state: The state of the run, which holds the person's message and the conversation before it.
    :returns: The query to send, and the statements that were left out. The list is empty if the query is unchanged.
    """
    left_out: list[str] = []
    messages = (state.typed, state.question, *(text for role, text in state.history if role == "user"))
    for message in filter(None, dict.fromkeys(messages)):
        question, statements = split_question(message)
        for written_message in {message.strip(), " ".join(message.split())}:
            if question and statements and written_message in query:
                query = query.replace(written_message, question)
                left_out = left_out + statements
    return query, left_out


def reason_to_withhold(query: str, state: State) -> str:
    """Return why a query must not be sent to the web, or an empty text if the query may be sent.

    The checks, in this order:

    1. The person's message looks like a question, or the person has allowed this query.
    2. The system prompt does not ask for work on the message, such as a translation.
    3. No name or number of the query is from the system prompt and not from the person's questions.
    4. At most half of the words are from statements, earlier answers, the system prompt or attached texts. A query
       that rules made may have no such word at all.
    5. With ``PREFRAG_WEB_HOLD_NAMES=on``, at most half of the words are names or numbers from passages.
    6. The query repeats no five words in a row of a passage that is not from the web, of an attached text, or of a
       statement. Words that also stand in the person's questions do not count.

    A query that the person has allowed as a whole skips the checks 4 and 5. It may repeat the statements.

    :param query: The query, after :func:`web_query` and in the form in which it is sent.
    :param state: The state of the run: the message, the conversation, the settings and the searches so far.
    :returns: The reason as a text for the caller, or an empty text if the query may be sent.
    """
    message = state.typed or state.question
    instructions = state.settings.instructions
    # Check 1. An allowed query holds the person's own text, but it may still hold a copy of a passage.
    is_allowed = query == allowed_query.get()
    question_of_message, stated = split_question(message)
    if not is_allowed and (not question_of_message or not is_question(message, bool(instructions))):
        return NO_QUESTION_MARK if instructions and not QUESTION_MARK.search(message) else NO_QUESTION

    # Check 2.
    if any(map(TASK_ON_TEXT.match, plain_sentences(instructions))):
        return "the system prompt asks for work on the message, which may then be a text"

    # The person's own questions, and all texts that the query must not be made from.
    own_questions = [question_of_message]
    other_texts = [instructions, *stated, *map(passage_text, state.attached)]
    for role, text in state.history:
        question, statements = "", [text]
        if role == "user" and is_question(text, bool(instructions)):
            question, statements = split_question(text)
        own_questions.append(question)
        other_texts += statements

    words = _content_words([query]) or set(_split(query))
    # A word of the query is borrowed if it stands in these other texts and in none of the person's own questions.
    # In some languages a word has other endings in another place of a sentence. So a word is also borrowed if it is
    # a part of a longer word of a statement: "Varnholt" in "Varnholtin".
    glued_statements = _glue(stated)
    borrowed = {word for word in words if word in glued_statements} | (words & _content_words(other_texts))
    borrowed -= _content_words(own_questions)

    # Check 3.
    if (words & _names([instructions])) - _content_words(own_questions):
        return "it has a name or a number that stands in the system prompt and not in your question"

    # Check 4. If rules rewrote the question, they only inserted names. A borrowed word is then a name from an earlier
    # answer, so none is allowed. If a model wrote the query, it chose its own words, so half may be borrowed.
    by_rules = state.typed and "rewriter" not in state.usage.llm_calls
    if not is_allowed and (2 * len(borrowed) > len(words) or (by_rules and borrowed)):
        return (
            "some of its words come from an earlier answer or a text, not from you: say in your question what to find"
        )

    # Check 5. The current step is skipped: its results were not known yet when the query was written.
    external = state.settings.external
    searches = [search for step in state.steps[:-1] for search in step.searches if search.source not in external]
    documents = [document for search in searches for document in search.documents]
    passages = [document.content or "" for document in (*documents, *state.attached)]
    borrowed_names = words & _names(passages) - _content_words(own_questions)
    if settings.web_hold_names and not is_allowed and 2 * len(borrowed_names) > len(words):
        return "most of its words are names and numbers from passages (PREFRAG_WEB_HOLD_NAMES=on)"

    # Check 6.
    passages += [] if is_allowed else stated
    if _copies_passage(query, passages, own_questions):
        return f"it repeats {COPIED_WORDS} words or more from a passage of your own documents"
    return ""


def _split(text: str) -> list[str]:
    """Split a text into words to compare, or into pairs of characters in scripts without spaces.

    For example, ``_split("Who built 船舶造?")`` returns ``["who", "built", "船舶", "舶造"]``.
    """
    return [pair or word for pair, word in _TOKEN.findall(comparison_form(text))]


def _content_words(texts: Iterable[str]) -> set[str]:
    """Collect the words of texts that say something about their topic, in the form in which words are compared.

    These are the words of four letters or more that are no question words, words with a digit, and pairs of
    characters in scripts without spaces. For example, ``_content_words(["Who paid 41 for the yard?"])`` returns
    ``{"paid", "41", "yard"}``.
    """
    words = {word for text in texts for word in _split(text)} - QUESTION_WORDS
    return {word for word in words if len(word) > 3 or not word.isalpha() or word[0] >= "\u0e00"}


def _names(texts: Iterable[str]) -> set[str]:
    """Collect the words that may be names or numbers: all that do not begin with a lower-case letter.

    For example, ``_names(["Quill sold the yard for 41 million."])`` returns ``{"quill", "41"}``.
    """
    return _content_words(word for text in texts for word in text.split() if not _begins_lower(word))


def _begins_lower(word: str) -> bool:
    """Check whether a word has no digit and begins with a lower-case letter, behind a quotation mark or bracket."""
    return any(sign.islower() for sign in word.lstrip("\"'([{<*_“„«")[:1]) and not _DIGIT.search(word)


def _copies_passage(query: str, passages: Iterable[str], own: Sequence[str]) -> bool:
    """Check whether a query repeats five words in a row of a passage that the person's own questions do not have.

    The words also count if they are written without blanks or with other blanks. For example,
    ``_copies_passage("soldtothehouseof", ["It was sold to the house of Quill."], [])`` returns ``True``.
    """
    sequences = _word_sequences(passages) - _word_sequences(own)
    glued_query, glued_own = _glue([query]), _glue(own)
    glued_sequences = (sequence.replace(" ", "") for sequence in sequences)
    is_copied_glued = any(glued in glued_query and glued not in glued_own for glued in glued_sequences)
    return is_copied_glued or not sequences.isdisjoint(_word_sequences([query]))


def _glue(texts: Iterable[str]) -> str:
    """Write each text in the form to compare and without blanks, and join the texts with a blank.

    For example, ``_glue(["The yard", "was sold."])`` returns ``"theyard wassold"``.
    """
    return " ".join(comparison_form(text).replace(" ", "") for text in texts)


def _word_sequences(texts: Iterable[str]) -> set[str]:
    """Collect all runs of five words in the texts, each joined by blanks.

    For example, ``_word_sequences(["It was sold in May 1974."])`` returns
    ``{"it was sold in may", "was sold in may 1974"}``.
    """
    sequences = set()
    for words in map(_split, texts):
        for begin in range(len(words) - COPIED_WORDS + 1):
            sequences.add(" ".join(words[begin : begin + COPIED_WORDS]))
    return sequences
