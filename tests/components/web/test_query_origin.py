"""Which messages are not a person's question, and which queries are not made from the question."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from pathlib import Path
from string import Template
from time import process_time
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from prefrag.components.state.usage import Usage
from prefrag.components.web.query_form import query_form
from prefrag.components.web.query_origin import allowed_query, reason_to_withhold, web_query
from prefrag.components.web.question_in_message import is_question, split_question
from tests.components.samples import document, observed_step, search_step, settings, state
from tests.for_each import for_each

LAYOUTS = yaml.safe_load((Path(__file__).parents[2] / "task_prompts" / "one_line.yaml").read_text("utf-8"))
BESIDE = yaml.safe_load((Path(__file__).parents[2] / "task_prompts" / "beside.yaml").read_text("utf-8"))
BRIEF = yaml.safe_load((Path(__file__).parents[2] / "task_prompts" / "brief.yaml").read_text("utf-8"))
PASSAGE = "The yard of Ostermoor was sold to the house of Quill for 41 million in May."
CHINESE = "\u5965\u65af\u7279\u83ab\u5c14\u9020\u8239\u5382\u5356\u7ed9\u4e86\u594e\u5c14\u5bb6\u65cf"
WORDS = st.lists(st.text(st.characters(categories=["Ll", "Lo"]), min_size=1, max_size=9), min_size=4, max_size=30)
QUESTIONS = ["Who built alpha?", "alpha builder", "Name the yard that built alpha.", "Hi,\nwho built alpha?\nThanks!"]
QUESTIONS += ["I sail a boat of 1974. Who built it?", "Which came first: alpha or the boat that Quill built?"]
QUESTIONS += [
    "Who said “I shall return”?",
    "What does <chat_history> mean?",
    "आल्फा को किसने बनाया?",
    "谁建造了阿尔法\uff1f",
]
OTHERS = [
    "Human: When?\nAI: In May.",
    "Q1: When? A1: In May.",
    "User: When? Bot: In May.",
    "<|im_start|>user When?",
    "[INST] When? [/INST]",
]
OTHERS += ['[{"role": "user", "content": "When?"}]', "<chat>When?</chat>", "What is it?\n```\nIn May.\n```", "a " * 17]
OTHERS += [
    "#1 The yard was sold in May #2 Who paid?",
    "Rephrase: the yard was sold.",
    "Who wrote this?\n\nThe yard was sold in May.",
    "word " * 101 + "?",
]
OTHERS += ["Name it: the yard was sold to the house of Quill", "The board met on Monday. The yard was sold in May."]


@for_each("message", *QUESTIONS, *OTHERS)
def test_a_question_is_told_by_its_form(message: str):
    assert is_question(message) is (message in QUESTIONS)


@for_each("message, asks", ("The yard was sold.", False), ("Who built it?", True), ("alpha", False))
def test_a_text_for_a_system_prompt_is_no_question(message: str, asks: bool):
    assert is_question(message, instructed=True) is asks


@given(
    WORDS, WORDS, st.sampled_from(["{}: ", "{}\uff1a", "[{}] ", "| {} | ", "{} — ", "<{}> ", ""]), st.text(max_size=300)
)
def test_turns_and_paragraphs_in_any_script_are_no_question(earlier: list[str], other: list[str], form: str, text: str):
    first, second = (form.format(words[0]) + " ".join(words) + " a b c?" for words in (earlier, other))

    assert not is_question(f"{first}\n{second}")
    # Every text either has an origin or is a question.
    assert reason_to_withhold(text, state(question=text)) or is_question(text)


@for_each(
    "query, question, history, passes",
    ("who paid for the yard", "And who paid?", ("assistant", PASSAGE), True),
    ("who bought the shipyard of Ostermoor", "And who paid?", ("assistant", PASSAGE), True),
    ("Ostermoor Quill 41 million", "And who paid?", ("assistant", PASSAGE), False),
    ("41", "And who paid?", ("assistant", PASSAGE), False),
    ("Ostermoor Quill 41 million", "Did Quill pay Ostermoor 41 million?", ("assistant", PASSAGE), True),
    ("Ostermoor Quill 41 million", "And who paid?", ("user", "Did Quill pay Ostermoor 41 million?"), True),
    ("Ostermoor Quill 41 million", "And who paid?", ("user", f"Shorten this:\n\n{PASSAGE}"), False),
)
def test_a_query_is_mostly_of_the_persons_own_words(query: str, question: str, history: tuple[str, str], passes: bool):
    assert bool(reason_to_withhold(query, replace(state(question=question), history=(history,)))) is not passes


@for_each("calls, passes", ({}, False), ({"rewriter": 1}, True))
def test_a_name_of_an_earlier_answer_put_in_by_rules_stays(calls: dict[str, int], passes: bool):
    asked = replace(state(question="When did Quill pay?"), typed="When did she pay?", usage=Usage(llm_calls=calls))
    said = replace(asked, history=(("user", "Who bought the yard?"), ("assistant", "Quill")))

    assert bool(reason_to_withhold("When did Quill pay the yard?", said)) is not passes
    assert not reason_to_withhold("When did she pay for the yard?", said)


def test_a_query_is_not_made_of_attached_text_or_instructions():
    instructed = replace(state(question="Who paid?"), settings=settings(instructions=PASSAGE))
    attached = replace(state(question="Who paid?"), attached=(document("a", PASSAGE),))

    assert "stands in the system prompt" in reason_to_withhold("Ostermoor Quill million", instructed)
    assert "come from an earlier answer" in reason_to_withhold("yard sold house", instructed)
    assert "come from an earlier answer" in reason_to_withhold("Ostermoor Quill million", attached)


@for_each(
    "spell",
    lambda words: words.replace("o", "o\u200b"),
    lambda words: words.replace("s", "s\u00ad"),
    lambda words: words.replace(" ", "\U000e0101 "),
    lambda words: "".join(f"{sign}\u0301" if sign.isalpha() else sign for sign in words),
    lambda words: "".join(chr(ord(sign) + 0xFEE0) if sign.isalpha() else sign for sign in words),
    lambda words: words.translate(str.maketrans("aeo", "\u0430\u0435\u043e")),
    lambda words: words.replace("o", "\u03bf"),
    lambda words: words.replace(" ", "%20"),
    lambda words: words.replace(" ", "%252520"),
    lambda words: words.replace(" ", ""),
    lambda words: words.title().replace(" ", ""),
    lambda words: " ".join(words.replace(" ", "")),
    lambda words: words.replace(" ", "\u2800"),
    lambda words: words.replace(" ", "&nbsp;"),
    lambda words: words.translate(str.maketrans("aehn", "\u1d00\u1d07\u029c\u0274")),
    lambda words: "".join(chr(ord(sign) + 0x24D0 - ord("a")) if sign.isalpha() else sign for sign in words.lower()),
    lambda words: "".join(chr(ord(sign) + 0x1F170 - ord("a")) if sign.isalpha() else sign for sign in words.lower()),
)
def test_a_copy_spelled_otherwise_is_the_same_copy(spell: Callable[[str], str]):
    read, query = observed_step(document("a", PASSAGE), source="local"), query_form(spell(PASSAGE[:38]))

    assert "it repeats 5 words or more" in reason_to_withhold(query, state(read, search_step(query), external=("web",)))


def test_blanks_within_a_script_without_blanks_hide_no_copy():
    read, query = observed_step(document("b", CHINESE), source="local"), " ".join(CHINESE[4:13])

    assert reason_to_withhold(query, state(read, search_step(query), external=("web",)))


@for_each(
    "query, source, is_held",
    ("Ostermoor was sold to the house", "local", True),
    ("Ostermoor was sold for how much", "local", False),
    ("Ostermoor was sold to the house", "web", False),
    (CHINESE[6:13], "local", True),
    (CHINESE[6:9], "local", False),
)
def test_a_query_copies_no_five_words_of_an_own_passage(query: str, source: str, is_held: bool):
    read = observed_step(document("a", PASSAGE), document("b", CHINESE), source=source)

    assert bool(reason_to_withhold(query, state(read, search_step(query), external=("web",)))) is is_held


@for_each(
    "message, question, statements",
    ("Who built alpha?", "Who built alpha?", 0),
    (" alpha\n builder ", " alpha\n builder ", 0),
    ("Who built alpha \u2013  beta²?", "Who built alpha \u2013  beta²?", 0),
    ("Who said “I shall return” (1942)?", "Who said “I shall return” (1942)?", 0),
    ("What did King Jr. win with R&B + C++ at python.org?", "What did King Jr. win with R&B + C++ at python.org?", 0),
    ("I sail a boat of 1974. Who built it?", "Who built it?", 1),
    ("the yard was sold for 41 million. who paid?", "who paid?", 1),
    ("Sold for 41 million.Who paid?", "Who paid?", 1),
    ("Who paid? I say Quill \u2013 or Ostermoor.", "Who paid?", 1),
    ("Wer gewann am 9. Juni 1974 die Wahl in Leeds?", "Wer gewann am 9. Juni 1974 die Wahl in Leeds?", 0),
    ("Sold for 62. Who paid?", "Who paid?", 1),
    ("हमारे पास 1998 की नाव है। उसे किसने बनाया?", "उसे किसने बनाया?", 1),
    ("我们有一艘1974年的船。谁建造了它\uff1f", "谁建造了它\uff1f", 1),
    ("Who paid (Quill sold it for 41 million)?", "Who paid ?", 1),
    ("Boat 1974 | Who paid?", "Who paid?", 1),
    ("Quandt leaves Varnholt: must Ada pay the tax?", "", 1),
    ("Quandt leaves Varnholt, must Ada pay the tax?", "", 1),
    ("Quandt leaves Varnholt, who pays the tax?", "who pays the tax?", 1),
    ("Mira has cancer - who pays?", "who pays?", 1),
    ("(Mira has cancer) who pays?", "who pays?", 1),
    ("Mira has cancer ... who pays?", "who pays?", 1),
    ("Mira has cancer so who pays?", "who pays?", 1),
    ("Mira aspetta gemelli = chi paga?", "chi paga?", 1),
    ("我们卖了船厂\uff1a奎尔公司何时成立\uff1f", "奎尔公司何时成立\uff1f", 1),
    ("my landlord drinks too much, is that legal?", "is that legal?", 1),
    ("Guten Morgen zusammen, wann ist Ostern 2025?", "wann ist Ostern 2025?", 1),
    ("Can dogs eat grapes and what are the symptoms?", "Can dogs eat grapes and what are the symptoms?", 0),
    ("Gibt es in Wien Bars und wann sind sie offen?", "Gibt es in Wien Bars und wann sind sie offen?", 0),
    ("Selon la loi, qui paie ?", "Selon la loi, qui paie ?", 0),
    ("If it rains, can I plant roses?", "If it rains, can I plant roses?", 0),
    ("Who is Ada (Irish harp player)?", "Who is Ada (Irish harp player)?", 0),
    ("the Berlin wall, who built it?", "the Berlin wall, who built it?", 0),
    ("Ada or Ben, who paid?", "Ada or Ben, who paid?", 0),
    ("She is an artist and what kind of activist?", "She is an artist and what kind of activist?", 0),
    ("Say in Dutch: the yard was sold in May?", "", 1),
    ("\U0001f3f7? The yard was sold in May.", "", 1),
    ("Who directed Mad Max: Fury Road?", "Who directed Mad Max: Fury Road?", 0),
    ("Who told Quandt: the yard was sold in May?", "Who told Quandt", 1),
    ("Quandt verkauft die Werft Varnholt: Welcher Titel passt?", "Welcher Titel passt?", 1),
    ("Who built\nalpha?", "Who built\nalpha?", 0),
    ("In 1945, who paid?", "In 1945, who paid?", 0),
    ("Who was born on May 9, 1974?", "Who was born on May 9, 1974?", 0),
    ("Which came first, Moscow Pride 6 or Alpha Two?", "Which came first, Moscow Pride 6 or Alpha Two?", 0),
    ("When did Ada Grey, 4th Earl of Kent, die?", "When did Ada Grey, 4th Earl of Kent, die?", 0),
    ("What is usual, our rent is 1,200 euros?", "What is usual", 1),
    ("Do Quandta płacimy 41 milionów, jaki podatek?", "jaki podatek?", 1),
    ("Our rent is 1,200 euros, why?", "", 1),
    ("Quandt verlässt bald den Varnholt, welche Frist gilt?", "welche Frist gilt?", 1),
    ("What is usual, Ilse Quandt is leaving Varnholt?", "What is usual", 1),
    ("What is usual, our boss Quandt leaves?", "What is usual", 1),
    ("Which is older, Ada Grey of Kent or Ben Stone?", "Which is older, Ada Grey of Kent or Ben Stone?", 0),
    ("Where in Portland, Oregon is the yard?", "Where in Portland, Oregon is the yard?", 0),
    ("Ilse Quandt odchodzi z Varnholt? Jaki tytuł pasuje?", "Jaki tytuł pasuje?", 1),
    ("Who is Ilse Quandt? Where does she live?", "Who is Ilse Quandt? Where does she live?", 0),
    ("Кто построил Альфу? Какой была верфь Квандта?", "Кто построил Альфу? Какой была верфь Квандта?", 0),
    ("A Quandt vai deixar a Varnholt em breve", "", 1),
    ("Quandt and Varnholt takeover date", "Quandt and Varnholt takeover date", 0),
    ("List the boats of Quandt and of Varnholt.", "List the boats of Quandt and of Varnholt.", 0),
    ("Our rent is 1,200 euros.", "", 1),
    ("*Our rent is 1,200 euros* Who paid?", "Who paid?", 1),
    ("Who wrote *The Remains of the Day*?", "Who wrote *The Remains of the Day*?", 0),
    ("@Quandt The yard was sold for 41 million What is it worth?", "What is it worth?", 1),
    ("Who wrote the song What a wonderful world?", "Who wrote the song What a wonderful world?", 0),
    ("The first part of Doctor Who appeared when?", "The first part of Doctor Who appeared when?", 0),
    ("Mikä sopii: Varnholtin kauppa on 9. kesäkuuta 62 miljoonalla?", "", 1),
    ("Hola, ¿qué hora es en Tokio?", "Hola, ¿qué hora es en Tokio?", 0),
    ("Título: ¿Varnholt se vende por 62 millones?", "", 1),
    ("Please tell me who painted the Mona Lisa.", "Please tell me who painted the Mona Lisa.", 0),
    ("Nenne mir die Planeten des Sonnensystems.", "Nenne mir die Planeten des Sonnensystems.", 0),
    ("alpha: the yard of Ostermoor was sold to Quill", "", 1),
    ("quick question: how many people live in Peru?", "how many people live in Peru?", 1),
    ("I was wondering the following: who painted alpha in 1974?", "who painted alpha in 1974?", 1),
    ("one more thing - is it safe to drink the water?", "is it safe to drink the water?", 1),
    ("Just curious | can you drink the water in Lima?", "can you drink the water in Lima?", 1),
    ("Kurze Frage: in welchem Jahr starb Johann Sebastian?", "in welchem Jahr starb Johann Sebastian?", 1),
    ("Быстрый вопрос: сколько человек живёт в Перу?", "сколько человек живёт в Перу?", 1),
    ("问题\uff1a秘鲁一共有多少人口居住\uff1f", "秘鲁一共有多少人口居住\uff1f", 1),
    ("Quandt leaves Varnholt: how many people live in Peru?", "how many people live in Peru?", 1),
    ("Who is right: what does the yard of alpha cost?", "Who is right", 1),
    ("quick question: what is usual, Quandt leaves Varnholt?", "", 1),
    ("Reminder: when Ilse Quandt leaves Varnholt we pay 41?", "", 1),
    ("Nota: quando Quandt lascia la Varnholt paghiamo 41?", "", 1),
    ("Note: will pay Quandt 41 million?", "", 1),
    ("Note: we paid Varnholt for what Quandt built?", "", 1),
)
def test_a_statement_beside_a_question_is_left_out(message: str, question: str, statements: int):
    asked, told = split_question(message)

    assert (asked, len(told)) == (question, statements)


@for_each(
    "message",
    # "Do" is a verb in Italian, and the first sign of a Chinese name may be a question word.
    "Do a Quandt 3.000 euro al mese per la Varnholt.",
    "Paghiamo 41 milioni, do a Quandt 3.000 euro?",
    "\u6211\u4eec\u4ed8\u7ed9\u4f55\u4e3d\u5a1c4100\u4e07\uff0c\u516c\u53f8\u6b20\u7a0e300\u4e07\uff1f",
    "We paid 41 million to Varnholt for what Quandt built, our rent is 1,200 euros?",
)
def test_a_figure_does_not_leave_for_a_question_word_beside_it(message: str):
    assert split_question(message)[0] == ""


def test_a_long_message_that_begins_with_when_is_no_question():
    assert not is_question(
        "When Ilse Quandt leaves Varnholt in May we will have to pay her 214,000 euros and sell the yard"
    )


@given(st.text(max_size=200))
def test_a_question_is_the_message_or_some_of_its_characters(message: str):
    asked, told = split_question(message)

    assert asked in ("", message) if not told else Counter(asked.replace(" ", "")) <= Counter(message)


def test_a_query_that_is_the_message_keeps_the_question_alone():
    boat = "We sold the yard to Quill in 1974. What is it worth?"
    follow_up = replace(state(question="And alpha?"), typed="And alpha?", history=(("user", boat),))

    assert web_query(boat, state(question=boat)) == ("What is it worth?", ["We sold the yard to Quill in 1974."])
    assert web_query(f"{boat} And alpha?", follow_up)[0] == "What is it worth? And alpha?"
    assert web_query("worth of a yard", state(question=boat)) == ("worth of a yard", [])


@for_each(
    "query, passes", ("what is a yard worth", True), ("Quill yard 1974", False), ("sold the yard to Quill", False)
)
def test_a_model_brings_no_statement_back(query: str, passes: bool):
    asked = state(question="We sold the yard to Quill in 1974. What is a yard worth?")

    assert bool(reason_to_withhold(query, asked)) is not passes


@for_each(
    "prompt, passes", ("Be brief.", True), ("Translate everything to French.", False), ("Traduis en anglais.", False)
)
def test_under_a_prompt_for_work_on_texts_nothing_leaves(prompt: str, passes: bool):
    instructed = replace(state(question="When was it sold?"), settings=settings(instructions=prompt))

    assert bool(reason_to_withhold("When was it sold?", instructed)) is not passes


@for_each("layout", *LAYOUTS["layouts"])
def test_a_statement_in_one_line_with_a_question_stays_here(layout: str):
    for words in LAYOUTS["languages"].values():
        private = words["words"]
        message = Template(layout).substitute({name: text for name, text in words.items() if name != "words"})
        asked = state(question=message)
        copied = [words[name] for name in ("private", "short") if words[name] in message]
        for made in (message, " ".join(message.split()), *copied, " ".join(w for w in private if w in message)):
            query = query_form(web_query(made, asked)[0])
            assert reason_to_withhold(query, asked) or not any(word in query for word in private), message


@for_each("copied, passes", (True, False), (False, True))
def test_an_allowed_message_is_still_no_copy_of_a_passage(copied: bool, passes: bool):
    read = observed_step(document("a", PASSAGE if copied else "Another."), source="local")
    message = query_form(f"{PASSAGE} What is alpha worth?")
    asked = replace(state(read, search_step(message), external=("web",)), question=message)

    token = allowed_query.set(message)
    try:
        reason = reason_to_withhold(message, asked)
    finally:
        allowed_query.reset(token)

    assert ("it repeats 5 words or more" in reason, not reason) == (not passes, passes)
    assert reason_to_withhold(message, asked)


@for_each("beside", *BESIDE)
def test_a_statement_beside_a_question_stays_here(beside: dict[str, Any]):
    asked = state(question=beside["message"])

    query = query_form(web_query(beside["message"], asked)[0])

    leaves = not reason_to_withhold(query, asked) and any(word in query for word in beside["words"])
    assert leaves is beside.get("leaks", False), query


@for_each(
    "query, passes",
    ("who paid for the yard", True),
    ("what do yards cost", True),
    ("who paid Ostermoor", False),
    ("who paid 41", False),
)
def test_under_any_system_prompt_its_names_and_numbers_stay_here(query: str, passes: bool):
    prompt = "You are a helpful assistant of Ostermoor, which has 41 people."
    instructed = replace(
        state(question="We sold it in May. Who paid for the yard?"), settings=settings(instructions=prompt)
    )

    assert bool(reason_to_withhold(query, instructed)) is not passes
    assert web_query(instructed.question, instructed)[0] == "Who paid for the yard?"


def test_an_earlier_message_without_a_mark_is_no_question():
    said = replace(state(question="Who paid?"), history=(("user", "sale of Ostermoor"),))

    assert not reason_to_withhold("sale of Ostermoor who paid", said)
    instructed = replace(said, settings=settings(instructions="You are a helpful assistant."))
    assert reason_to_withhold("sale of Ostermoor who paid", instructed)


@for_each("query, is_held", ("Ostermoor Quill 41 price", True), ("who paid for the yard of Ostermoor", False))
def test_a_query_of_mostly_names_is_held_back_if_set(query: str, is_held: bool):
    read = observed_step(document("a", PASSAGE), source="local")
    asked = replace(state(read, search_step(query), external=("web",)), question="Who paid for the yard?")

    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("PREFRAG_WEB_HOLD_NAMES", raising=False)
        assert not reason_to_withhold(query, asked)
        patch.setenv("PREFRAG_WEB_HOLD_NAMES", "on")
        assert bool(reason_to_withhold(query, asked)) is is_held


# How many of some 1,700 messages each may send a word of their statement: see SECURITY.md.
@for_each("part, most", ("seen", 6), ("unseen", 6))
def test_a_statement_of_three_words_stays_in_any_language(part: str, most: int):
    leaks, messages = [], 0
    for texts in BRIEF[part].values():
        for statement, question, form in product(texts["statements"], texts["questions"], BRIEF["forms"]):
            message = form.format(s=statement, q=question)
            asked = split_question(message)[0] if is_question(message) else ""
            messages += 1
            words = [word for word in statement.split() if len(word) > 2 and word.lower() not in question.lower()]
            leaks += [message] if any(word in asked for word in words) else []

    assert len(leaks) <= most, leaks
    assert messages > 1_600


@for_each("sign", "and so who ", "a: ", "... who ", "> no ")
def test_a_long_message_full_of_signs_is_split_in_a_second(sign: str):
    message = sign * (40_000 // len(sign))
    before = process_time()

    split_question(f"{message}?")

    assert process_time() - before < 1
