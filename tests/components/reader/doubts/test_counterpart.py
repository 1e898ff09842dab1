"""An answer that belongs to the counterpart of what is asked for."""

from tests.components.reader.doubts.doubt import doubt
from tests.for_each import for_each

KILN = "How heavy is the new kiln?"
HEAD = "Who is the head teacher?"


@for_each(
    "form, question, answer, text, twin",
    ("compared", KILN, "310", "The new kiln is heavier than the old one, which weighed 310 kg.", "It weighs 310 kg."),
    ("replaced", HEAD, "Ann Low", "The head teacher took over from Ann Low.", "The head teacher is Ann Low."),
    ("replaced", HEAD, "Ann Low", "The head teacher succeeded Mrs Ann Low.", "Ann Low succeeded the head teacher."),
    ("replaced", "Who teaches Year 4?", "Ann", "Ann is standing in for the teacher of Year 4.", "Ann teaches Year 4."),
    ("other side", "Who bought the mill?", "Ann Low", "Ann Low sold the mill.", "The mill was sold to Ann Low."),
    (
        "other side",
        "When did it arrive?",
        "Monday",
        "It left Antwerp on Monday.",
        "It left Antwerp, and arrived on Monday.",
    ),
    ("other side", "When does the lease end?", "June", "The lease begins in June.", "The lease ends in June."),
    (
        "consequence",
        "What caused the flood?",
        "the pipe",
        "The flood led to the pipe.",
        "The flood was due to the pipe.",
    ),
    (
        "common value",
        "How many points has Team Oak?",
        "88",
        "Team Oak and Team Ash together have 88 points.",
        "Team Oak and Team Ash have 88 and 90 points.",
    ),
    (
        "of relative",
        "What is leo allergic to?",
        "nuts",
        "Leo's mother is allergic to nuts.",
        "Leo is allergic to nuts.",
    ),
    ("limit", "How many signed?", "1,000", "The list closed just short of 1,000.", "The list closed at 1,000."),
    (
        "other time",
        "How many members were there after the merger?",
        "212",
        "On the eve of the merger there were 212 members.",
        "After the merger there were 212 members.",
    ),
)
def test_the_counterpart_raises_a_doubt_and_its_twin_none(form, question, answer, text, twin):
    assert doubt(question, text, answer) == form
    assert doubt(question, twin, answer) == ""


@for_each(
    "question, answer, text",
    ("Who did Ann replace?", "Bo Lind", "Ann replaced Bo Lind."),
    ("Who stands in for the head teacher?", "Bo Lind", "Bo Lind stands in for the head teacher."),
    ("How old must I be?", "older than 18", "You must be older than 18."),
    ("Why did Ann leave?", "the loss of the grant", "Ann left because of the loss of the grant."),
    ("Who won?", "Ann Low", "The others lost to Ann Low."),
    ("What is Leo's mother allergic to?", "nuts", "Leo's mother is allergic to nuts."),
    ("When do you close?", "17", "We are open from 9 to 17."),
    ("When do you close?", "6 pm", "Open until 6 pm."),
    ("When does the course end?", "5 June", "The course starts on 3 May and runs until 5 June."),
    ("When does the train arrive?", "10.15", "The train leaves Leeds at 9.00 and reaches York at 10.15."),
    ("When was the mill sold?", "1990", "Ann Low bought the mill in 1990."),
    ("When does the concert start?", "7.30 pm", "Concert 7.30 pm, ends 9.30 pm"),
    ("Who borrowed the drill?", "Tom", "I lent Tom the drill on 3 May."),
    ("Why did the mill close?", "railway", "Trade fell once the railway opened."),
    ("When was Elm Close built?", "1962", "The first homes were opened in 1962."),
    ("What does yoga cost?", "8", "Yoga is dearer than Pilates at 8 pounds."),
    ("Who was the previous treasurer?", "Bob Hay", "Jane Roe took over from Bob Hay."),
    ("Who is on call on Sunday?", "Dr Lee", "Dr Lee is covering for Dr Shah on Sunday."),
    ("How old is Leo?", "7", "Leo's age is 7."),
    ("Why was the school shut?", "a burst pipe", "The frost led to a burst pipe."),
    ("When did Ann found the shop?", "1998", "Ann and Bo jointly founded the shop in 1998."),
    ("How many albums did Bo make?", "4", "Ann and Bo made 4 albums together."),
)
def test_a_question_for_the_counterpart_raises_no_doubt(question, answer, text):
    assert doubt(question, text, answer) == ""
