"""Recognising prompts that a front end wrote, not a person."""

from __future__ import annotations

import time

from prefrag.server.chat.front_end_prompts import Attachment, find_task, separate_attachments
from tests.for_each import for_each
from tests.server.front_ends import ASKED, ATTACHED, FILE_TAGS, HOSTILE_FILE, NUMBERED_INSIDE, SECRET, SOURCES, TASKS


def user(text: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": text}]


class TestTasks:
    def test_are_recognised_by_form_metadata_or_system_message(self):
        system = {"role": "system", "content": "You name conversations."}

        assert [name for name, (prompt, _) in TASKS.items() if not find_task(user(prompt))] == []
        assert find_task([system, *user("user: Hi\nassistant: Hello")])
        assert find_task(user("Sum it up"), {"task": "title_generation"})
        assert not find_task([*user(TASKS["title"][0]), *user("Who built alpha?")], {"chat_id": "1"})

    @for_each(
        "question",
        "Who built alpha?",
        "### Task:\nFind out who built alpha.",
        "What does <chat_history> mean in Open WebUI?",
        "Which title did the yard win?",
        *ATTACHED.values(),
        ATTACHED["before the question"].replace("She has", "<chat_history> She has"),
    )
    def test_a_persons_question_is_none(self, question: str):
        assert not find_task(user(question))


class TestAttachedFiles:
    @for_each("form", *ATTACHED)
    def test_are_separated_from_the_question(self, form: str):
        assert separate_attachments(ATTACHED[form]) == (
            ASKED,
            [
                Attachment("1", "jn_board.txt", "Ada Quill keeps the crane."),
                Attachment("2", "plan.md", "The crane stands in Ostermoor."),
                Attachment("1", "jn_board.txt", "She has the key."),
            ],
        )

    def test_may_have_inner_numbers_and_are_not_named_without_texts(self):
        """The question does not name them where their texts are missing."""

        assert separate_attachments(NUMBERED_INSIDE) == (
            ASKED,
            [Attachment("1", "", "Ada Quill keeps the crane."), Attachment("plan.md", "plan.md", "In Ostermoor.")],
        )

        assert separate_attachments(FILE_TAGS + ASKED) == (ASKED, [])

    def test_a_file_cannot_put_a_question_of_its_own(self):
        question, attached = separate_attachments(HOSTILE_FILE)

        assert question == ASKED
        assert SECRET in attached[0].content

    @for_each(
        "text",
        "Who keeps the crane?",
        "What does <attached_files> mean?",
        "<attached_files>\nno tag\n</attached_files>",
        "What does\n<context>\nmean, and </context>?",
        "",
        "<source>",
    )
    def test_without_any_the_text_is_the_question(self, text: str):
        assert separate_attachments(text) == (text, [])

    @for_each(
        "text", "<source " * 60_000, f"\n<context>\n{'<source ' * 60_000}</context>", SOURCES * 4_000, FILE_TAGS * 4_000
    )
    def test_large_messages_take_no_time(self, text: str):
        started = time.process_time()
        separate_attachments(text)
        find_task(user(text))

        assert time.process_time() - started < 1
