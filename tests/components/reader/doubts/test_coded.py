"""A thing with another code than the question."""

from tests.components.reader.doubts.doubt import doubt
from tests.for_each import for_each


@for_each(
    "question, answer, text, twin",
    (
        "Who approved order PO45001?",
        "Greta Fenn",
        "Order PO45010 was approved by Greta Fenn.",
        "Order PO 45001 was approved by Greta Fenn.",
    ),
    (
        "Who approved order PO45001?",
        "Greta Fenn",
        "Order SO45001 was approved by Greta Fenn.",
        "Greta Fenn approved the order po-45001.",
    ),
    ("What does error 0x8007 mean?", "disk full", "Error 0x8005 means disk full.", "Error 0x8007 means disk full."),
    (
        "What is the price of article 4711-B?",
        "12 euros",
        "The price of article 4711-A is 12 euros.",
        "The price of the articles 4711-A and B is 12 euros.",
    ),
    ("Who checked batch 77/A?", "Rita Moor", "Rita Moor checked batch 77/B.", "Rita Moor checked batch 77."),
    (
        "How much was invoice 2025/118?",
        "840 euros",
        "Invoice 2025/181 was 840 euros.",
        "Invoices 2025/117 to 2025/119 were 840 euros.",
    ),
    (
        "In which room is the device with serial SN:A1B2E7/1?",
        "room 3",
        "Device 9: serial SN:A1B31F/1, room 3.",
        "Device 9: serial SN:A1B2E7/1, room 3.",
    ),
    ("When does flight LH 1402 leave?", "9:20", "Flight LH 1042 leaves at 9:20.", "LH1402 leaves at 9:20."),
    (
        "When was M12 oiled?",
        "4 May",
        "M21 was oiled on 4 May.",
        "M10-M14 were oiled on 4 May.",
    ),
    (
        "When was M12 oiled?",
        "4 May",
        "M21 was oiled on 4 May.",
        "Machine 12 was oiled on 4 May, and M13 on 5 May.",
    ),
    (
        "What is the login in version 2.4.1?",
        "a card",
        "In version 2.4.2 the login is a card.",
        "Since version 2.3 the login is a card.",
    ),
    (
        "Who tested the KX300 or the KX400?",
        "Ada Roke",
        "Ada Roke tested the KX500.",
        "Ada Roke tested the KX300.",
    ),
)
def test_another_code_is_doubtful_and_its_twin_not(question: str, answer: str, text: str, twin: str):
    assert doubt(question, text, answer) == "other thing"
    assert doubt(question, twin, answer) == ""


@for_each(
    "question, answer, text",
    ("When was M12 bought?", "4 May", "M12, which replaced M11, was bought on 4 May."),
    ("What is the serial number of pump P4?", "P4471", "The serial number of the pump is P4471."),
    ("When was the 3D printer bought?", "2 May", "The printer (serial PR-8871) was bought on 2 May."),
    ("Who drives the van on 3 May 2026?", "Kai Ness", "Kai Ness drives the van HK-AB 123 on 3 May 2026."),
    ("Is the M13 heavier than the M12?", "3 kg", "The M13 is 3 kg heavier."),
    ("Who oils M12?", "Ada Roke", "M12 is in hall 3. Ada Roke oils it as well as M13."),
)
def test_a_code_of_something_else_raises_no_doubt(question: str, answer: str, text: str):
    assert doubt(question, text, answer) == ""


def test_a_title_or_heading_with_the_code_raises_no_doubt():
    text = "It was oiled on 4 May together with M13."
    assert doubt("When was M12 oiled?", text, "4 May", title="M12") == ""
    assert doubt("When was M12 oiled?", text, "4 May", heading="Machine M-12") == ""


def test_a_title_with_another_code_is_doubtful():
    assert doubt("How long is the warranty of the KX300?", "The warranty is two years.", "two years", "KX200") != ""


@for_each(
    "question, answer, text, twin",
    (
        "What is the voltage of model X1?",
        "24 volts",
        "The voltage of model X1 Pro is 24 volts.",
        "The voltage of model X1 is 24 volts.",
    ),
    (
        "What is the price of the Corvo 20?",
        "450 euros",
        "The Corvo 20 Plus costs 450 euros, its price since May.",
        "The price of the Corvo 20 and the Corvo 20 Plus is 450 euros.",
    ),
    ("How many bikes are in B12?", "3", "There are 3 bikes of B12 Mini.", "In B12 Kai Noll has 3 bikes."),
)
def test_a_longer_name_is_doubtful_and_its_twin_not(question: str, answer: str, text: str, twin: str):
    assert doubt(question, text, answer) == "other thing"
    assert doubt(question, twin, answer) == ""


def test_words_behind_a_code_are_no_longer_name_of_it():
    assert doubt("Who sleeps in room B12?", "Room B12 Kai Noll sleeps in, as well.", "Kai Noll") == ""
    assert doubt("What helps at E10?", "E10 Sensor broken: clean the lens.", "clean the lens") == ""
