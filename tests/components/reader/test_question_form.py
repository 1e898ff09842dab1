"""What a question asks for."""

from prefrag.components.reader.question_form import asks_beyond_spans, asks_yes_no, looks_english, question_head
from tests.for_each import for_each


@for_each(
    "question, is_yes_no",
    ("Was the hall built before the pier?", True),
    ("does it float", True),
    ("Is Ann or Bea the older one?", False),
    ("Which hall was built first?", False),
    ("Isabel wrote which book?", False),
    ("Isn't the hall open?", True),
    ("Can whales sing?", True),
    ("Can you tell me when the hall opened?", False),
    ("Do you know who built it?", False),
)
def test_yes_no_question_begins_with_a_verb_and_offers_no_choice(question, is_yes_no):
    assert asks_yes_no(question) is is_yes_no


ENGLISH = """
Who founded the yard?
Was Ann Low or Bea Tide born first?
Name the founder of the yard.
whats the capital of peru
Do whales sing?
Can pazopanib be used for von Hippel-Lindau disease?
Who sang Der Tod und das M\u00e4dchen?
Who directed La vie en rose?
Was Charles de Gaulle taller than Napoleon?
What does "Wo ist der Hafen" mean?
Was Angkor Wat built before the Baphuon?
Is palliative care effective?
Is Lake Como in Italy?
The Baie de la Seine is a part of which sea?
"""
OTHERS = """
founder yard?
?
In welchem Jahr gewann die Werft den Preis?
Was war das erste Schiff der Werft?
Ist der Leuchtturm \u00e4lter als der Hafen?
Nenne den Gr\u00fcnder der Werft.
Wer sang 'Who Wants to Live Forever'?
Wie was de oprichter van de werf?
Wat is de hoofdstad van Nederland?
Is het schip groter dan de boot?
Qui a construit le navire ?
Qui a chant\u00e9 What a Wonderful World ?
Le port est-il plus ancien que le phare ?
\u00bfEn qu\u00e9 a\u00f1o gan\u00f3 el premio?
\u00bfHas visto el barco?
Chi ha fondato il cantiere?
Qual \u00e9 a capital do Brasil?
O navio do capit\u00e3o \u00e9 maior?
Vilket \u00e5r vann varvet priset?
Hvem byggede skibet for at vinde?
Er havnen for lille til skibet?
Kto to zbudowa\u0142?
Kdo postavil lo\u010f?
Are nava un motor?
Tersane \u00f6d\u00fcl\u00fc hangi y\u0131lda kazand\u0131?
Di mana letak mercusuar itu?
Miss\u00e4 majakka on?
Ki alap\u00edtotta a haj\u00f3gy\u00e1rat?
\u0410\u0441\u0442\u0430\u043d\u0430: \u043a\u0442\u043e \u043f\u043e\u0441\u0442\u0440\u043e\u0438\u043b?
\u8c01\u5efa\u9020\u4e86\u8fd9\u8258\u8239
"""


@for_each("question", *(ENGLISH.rstrip() + OTHERS).strip().splitlines())
def test_language_of_a_question_is_told_whatever_names_it_holds(question):
    assert looks_english(question) is (question in ENGLISH.splitlines())


@for_each(
    "question",
    "How many more people work in Tolmouth than in Oskerry?",
    "How much taller is the light than the hall?",
    "How many years older is Ann than Bea?",
    "What is the difference in height between the light and the hall?",
    "Which is older?",
    "Which of the two ships is longer?",
    "How many of the documents mention the yard?",
    "In how many of the reports is the yard named?",
    "How many papers mention Low?",
    "How many of them?",
    "How many ships did both yards build altogether?",
    "Compare the hall with the pier.",
    "Please summarise the minutes.",
)
def test_what_no_passage_states_is_known(question):
    assert asks_beyond_spans(question)


@for_each(
    "question",
    "How many people work in Tolmouth?",
    "How many of the vehicles designed by Ann Low came home?",
    "How many papers did Low publish?",
    "How many countries have more than two languages?",
    "How many people other than Ann were there?",
    "Which ship is longer, the Petrel or the Amaranth?",
    "Who is Ann's older brother?",
    "Compared to the pier, how old is the hall?",
    "What do Ann Low and Bea Tide have in common?",
)
def test_what_a_passage_may_state_is_asked_of_the_reader(question):
    assert not asks_beyond_spans(question)


@for_each(
    "question, head",
    ("Who founded the school that trained the designer of the lamp?", "founded the school"),
    ("In which year was the bridge designed by Ann Low opened?", "year was the bridge"),
    ("Where was the writer of Tide Tales born?", "was the writer of Tide Tales born?"),
    ("rent of flat 3", "rent of flat 3"),
)
def test_head_of_a_question_ends_before_the_first_clause(question, head):
    assert question_head(question) == head
