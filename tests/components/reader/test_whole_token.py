"""Spans that are extended to the borders of their tokens."""

from prefrag.components.reader.whole_token import extend_to_tokens
from tests.for_each import for_each


def extended(text: str, span: str) -> str:
    begin = text.index(span)
    left, right = extend_to_tokens(text, begin, begin + len(span))
    return text[left:right]


@for_each(
    "text, span, whole",
    ("The store is kept at -18 \xb0C.", "18 \xb0C", "-18 \xb0C"),
    ("The balance (-450 euros) is low.", "450 euros", "-450 euros"),
    ("Write to info@ferry.example.", "info@ferry", "info@ferry.example"),
    ("See https://hall.example/visit?lang=en.", "https://", "https://hall.example/visit?lang=en"),
    ("It is in /etc/harbour/main.conf.", "harbour/main", "/etc/harbour/main.conf"),
    ("It is in C:\\Data\\x, she said.", "C", "C:\\Data\\x"),
    ("Call (01632) 960-117.", "01632", "(01632) 960-117"),
    ("Call (0461) 880-42.", "0461) 880-42", "(0461) 880-42"),
    ("The number is GB 123 4567 89.", "123 4567 89", "GB 123 4567 89"),
    ("The account is DE44 5001 0517 5407 3249 31.", "DE44", "DE44 5001 0517 5407 3249 31"),
    ("The order is PO 45001.", "45001", "PO 45001"),
    ("The seal is SP-4417/C.", "4417", "SP-4417/C"),
    ("Above 38 cubic metres a second it shuts.", "38 cubic metres", "38 cubic metres a second"),
    ("The fee is 12 euros per head.", "12 euros", "12 euros per head"),
)
def test_a_part_of_a_token_becomes_the_whole_token(text: str, span: str, whole: str):
    assert extended(text, span) == whole


@for_each(
    "text, span",
    ("It costs 10-18 euros.", "18 euros"),
    ("It costs 10 -18 euros.", "18 euros"),
    ("Prices:\n-18 euros", "18 euros"),
    ("In the UK 12 000 people sing.", "12 000 people"),
    ("They beat USA 3-0.", "3-0"),
    ("In the EU 450 people sing.", "450 people"),
    ("It is a 12-week course.", "12"),
    ("The fee is 20 euros/month.", "20 euros"),
    ("Ann Low (1931-2004) sang.", "1931"),
    ("Ann/Bo lead it.", "Ann"),
    ("It opened in Q3 2024.", "2024"),
    ("It was built c.1920.", "1920"),
    ("It closed on 3 May a year later.", "3 May"),
    ("Pay on 3 May per bank transfer.", "3 May"),
    ("Notice: (1) 14 days for tenants, (2) 30 days for owners.", "30 days"),
    ("Turnover (2024) 450 000 euros.", "450 000 euros"),
    ("Turnover UK 450 470 490", "470"),
    ("In the UK 12 000 000 people sing.", "12 000 000 people"),
    ("It is open 8 am -6 pm.", "6 pm"),
    ("It is open 9AM-5PM.", "5PM"),
    ("Ada ran it, a year in all.", "Ada"),
)
def test_a_span_that_ends_at_words_or_in_a_range_stays(text: str, span: str):
    assert extended(text, span) == span
