"""What stands in front of a statement: a heading, a line with a colon, a label, a denial, a reply to a quotation."""

from haystack import Document

from prefrag.components.reader.doubts.doubtful_statement import find_doubt
from prefrag.components.reader.extractive_reader import ExtractiveReader
from tests.components.reader.doubts.doubt import doubt
from tests.for_each import for_each


@for_each(
    "label, twin",
    ("Rejected", "Entry"),
    ("Last year", "This year's entry"),
    ("Wrong", "Right"),
    ("Rumour", "Note"),
    ("Example", "Important"),
    ("Option 1", "Entry 1"),
    ("Proposal", "We decided"),
    ("Sketch on the door", "Note on the door"),
    ("Somebody joked", "Please remember"),
)
def test_a_label_before_a_clause_makes_it_doubtful(label, twin):
    question, fee = "What is the entry fee?", "The entry fee is 12 euros."
    assert doubt(question, f"{label}: {fee}", "12 euros") == "framed"
    assert doubt(question, f"{twin}: {fee}", "12 euros") == ""


def test_a_label_before_a_value_names_a_field():
    assert doubt("What is the entry fee?", "Fair: 12 euros for the entry", "12 euros") == ""


@for_each(
    "frame, twin",
    ("It is not true. ", "It is true. "),
    ("This isn't right. ", "The band costs 300 euros. This isn't right. "),
    ("The following no longer applies:\n", "The following applies:\n"),
    ("Discontinued:\nThe tent is free.\n", "Discontinued:\nThe tent is free. It is old.\n"),
    ("Cancelled\n", "Confirmed\n"),
    ("Rejected offers\n", "Frequently asked questions\n"),
    ("No, that is wrong, they want 450.\nOn 1 May Ann wrote:\n> ", "Yes, that is right.\nAnn wrote:\n> "),
    ("No. Ask again.\n> Hello. ", "No. 7 is free.\n> Hello. "),
)
def test_what_stands_in_front_takes_a_statement_back(frame, twin):
    question, band = "How much does the band cost?", "The band costs 350 euros."
    assert doubt(question, frame + band, "350 euros")
    assert doubt(question, twin + band, "350 euros") == ""


@for_each(
    "heading, question, answer, expected",
    ("Fair > Cancelled", "How much does the band cost?", "350 euros", "framed"),
    ("Fair > Not booked", "How much does the band cost?", "350 euros", "framed"),
    ("Fair > Not booked", "How much does the band cost that is not booked?", "350 euros", ""),
    ("Fair > If it does not rain", "How much does the band cost?", "350 euros", ""),
    ("Fair > Music", "How much does the band cost?", "350 euros", ""),
)
def test_a_heading_takes_back_what_stands_below_it(heading, question, answer, expected):
    text = "The band costs 350 euros."
    begin = text.index(answer)
    assert find_doubt(question, "", text, begin, begin + len(answer), heading) == expected


def test_the_heading_of_the_answer_s_own_section_counts():
    reader, text = ExtractiveReader(), "Cancelled\nThe bouncy castle costs 180 euros.\nMusic\nThe band costs 350 euros."
    meta = {"title": "Fair", "heading": "Fair > Music", "section_starts": "0 Fair > Cancelled\n44 Fair > Music"}
    documents = [Document(content=text, meta=meta)]
    assert reader.read("How much does the bouncy castle cost?", documents)[0].probability < reader.threshold
    assert reader.read("How much does the band cost?", documents)[0].probability >= reader.threshold


@for_each(
    "heading",
    "United States",
    "United Arab Emirates",
    "Landlocked countries",
    "Limited company",
    "Related documents",
    "Related products",
    "Required tools",
    "Recommended settings",
    "Advanced settings",
    "Selected data",
    "Closed systems",
    "Replaced parts",
    "Detailed terms",
    "Registered owners",
    "Furnished flat",
    "Secured loans",
    "Coated tablets",
    "Do not overload",
    "No tools needed",
    "No parking",
    "Pump does not start",
    "Not open to the public",
    "Previously on",
    "Until you begin",
    "Not included",
    "Limited",
    "Deposit not refundable",
    "Warning - Do not overload:",
)
def test_a_heading_that_tells_the_topic_takes_nothing_back(heading):
    question, band = "How much does the band cost?", "The band costs 350 euros."
    assert doubt(question, band, "350 euros", heading=f"Fair > {heading}") == ""
    assert doubt(question, f"{heading}\n{band}", "350 euros") == ""


@for_each(
    "question, answer, text",
    ("Who invented the zip?", "Ann Low", "History: It was invented by Ann Low."),
    ("Where was Ann born?", "Brae", "Biography: Ann was born in Brae."),
    ("Where was Ann born?", "Brae", "Early life: Ann was born in Brae."),
    ("What is the door code?", "4417", "Arrival: The door code is 4417."),
    ("When is the rent due?", "6 May", "Payment: It is due on 6 May."),
    ("What is the boiling point?", "100 degrees", "Step 3: The boiling point is 100 degrees."),
    ("Where is the stopcock?", "under the sink", "Kitchen: The stopcock is under the sink."),
    ("Where is the stopcock?", "under the sink", "In an emergency: The stopcock is under the sink."),
    ("What is the fine?", "5 euros", "Late return: The fine is 5 euros a day."),
    ("How high is the mill?", "30 metres", "Fun fact: The mill is 30 metres high."),
    ("When is the roof work started?", "6 May", "Decision: The roof work is started on 6 May."),
    ("Who is the project led by?", "Bo Lind", "Ann Low: The project is led by Bo Lind."),
    ("Where is the museum?", "Mill Lane", "Old town: The museum is in Mill Lane."),
    ("What is the dose?", "20 mg", "Before the meal: The dose is 20 mg."),
)
def test_a_label_that_names_the_topic_frames_nothing(question, answer, text):
    assert doubt(question, text, answer) == ""
