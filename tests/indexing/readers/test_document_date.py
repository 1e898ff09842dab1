from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from prefrag.indexing.readers.document_date import find_date
from tests.for_each import for_each


@for_each(
    "meta, text, name, date, place",
    ({"date": "2021-03-04"}, "Date: 2022-01-01", "2023-01-01.md", "2021-03-04", "document"),
    ({"date": "2021-03-04T10:00:00Z"}, "", "a.md", "2021-03-04", "document"),
    ({"date": "5 March 2024"}, "", "a.md", "2024-03-05", "document"),
    ({"date": "5 mars 2024"}, "", "a.md", "2024-03-05", "document"),
    ({}, "5 mars 2024\nText.", "a.md", "2024-03-05", "document"),
    ({"date": "last spring"}, "", "a.md", None, None),
    ({"date": 2024}, "", "2023-11.md", "2023-11", "name"),
    ({}, "The yard\nLast updated on 6 November 2023\nText.", "2020-01-01.md", "2023-11-06", "document"),
    ({}, "Stand: 06.11.2023", "a.txt", "2023-11-06", "document"),
    ({}, "Cork, Nov 6th, 2023.", "a.txt", "2023-11-06", "document"),
    ({}, "The yard was opened on 6 November 2023 by the queen.", "minutes-20231106.txt", "2023-11-06", "name"),
    ({}, "06/11/2023", "minutes_16-11-2023 v2.txt", "2023-11-16", "name"),
    ({}, "", "report_2023-11.pdf", "2023-11", "name"),
    ({}, "31.02.2023", "2023-13-01.txt", None, None),
    ({}, "Text.\n" * 20 + "2023-11-06", "call 020231106 now.txt", None, None),
)
def test_is_the_one_that_it_states_or_that_in_its_name(
    meta: dict[str, Any], text: str, name: str, date: str | None, place: str | None
):
    dated = find_date(meta, text, name)

    assert (dated.get("date"), dated.get("date_in")) == (date, place)


@for_each(
    "line",
    *("6 November 2023", "06.11.2023.", "2023-11-06", "Nov. 6th, 2023", "6. Nov 2023", "06. 11. 2023"),
    *("Date: 6 November 2023", "Date: Monday, 6 November 2023", "Monday 6 November 2023", "Updated 6 November 2023"),
    *("Last updated on 6 November 2023", "As of 6 November 2023", "Version of 6 November 2023"),
    *("Published on: 6 November 2023", "Revised: 6 November 2023", "Minutes of 6 November 2023"),
    *("Minutes of the yard committee, 6 November 2023", "Cork, 6 November 2023", "New York, November 6, 2023"),
    *("Stand: 6. November 2023", "Stand 06.11.2023", "Datum: 6.11.2023", "Kiel, den 6. November 2023"),
    *("Zuletzt ge\u00e4ndert am 6.11.2023", "Protokoll vom 6. November 2023", "Erstellt am: 06.11.2023"),
    # With a time or a writer behind a label, as in mails.
    *("Sent: Monday, 6 November 2023 09:12", "Date: Mon, 6 Nov 2023 10:02:11 +0100"),
    *("Gesendet: Montag, 6. November 2023 10:11", "Posted: 6 November 2023 by Ada Lund", "Mo., 6.11.2023"),
    *("Monday the 6th of November, 2023", "Print date: 06.11.2023", "Adopted by the members on 6 November 2023"),
    "Beschlossen von der Mitgliederversammlung am 6. November 2023",
    # In other languages.
    *("Proc\u00e8s-verbal du 6 novembre 2023", "Acta del 6 de noviembre de 2023", "Verbale del 6 novembre 2023"),
    *("Lyon, le 6 novembre 2023", "Sevilla, 6 de noviembre de 2023", "Notulen van 6 november 2023"),
)
def test_line_dates_the_document_by_what_precedes_the_date(line: str):
    assert find_date({}, f"The yard\n{line}\nText.", "a.txt") == {"date": "2023-11-06", "date_in": "document"}


@for_each(
    "line",
    *("Date of birth: 3 May 1960", "Geboren am: 3.5.1960", "Valid until 31 December 2023", "Expires on 1 June 2021"),
    *("Due date: 2023-05-01", "Next meeting: 3 May 2023", "Reply by 4 July 2023", "Departure: 3 May 2023"),
    *("Purchased: 2 May 2019", "Valid from 2 May 2019", "Start date: 2 May 2019", "Date due: 2 May 2019"),
    *("Date: 2 May 2019, 19:30", "Datum: 2. Mai 2019, 19:30 Uhr"),
    *("Gestorben am 3. Mai 1960", "G\u00fcltig bis 31.12.2023", "F\u00e4llig am 1.5.2023", "Abgabe bis: 1.5.2023"),
    *("N\u00e4chste Sitzung: 3. Mai 2023", "Warranty ends 2 May 2019", "Deadline 2 May 2019", "wedding, 2 May 2019"),
    *("Next meeting, 2 May 2019", "Minutes of the yard, next meeting, 2 May 2019"),
    # A stand at a fair, a German adjective, and dates below labels in other languages.
    *("Halle 3, Stand 4/2019", "Stand 4/2019", "Verbale Gewalt im Rat am 3. Mai 2021"),
    *("Facture\nDate limite de paiement\n30 avril 2024", "CV\nN\u00e9 le\n3 mars 1980", "Scadenza\n30 aprile 2024"),
    *("Prochaine r\u00e9union\n3 avril 2024.", "Fecha de nacimiento\n3 de marzo de 1980", "Betalen voor\n3 maart 2024"),
    *("Stand: 06.11.2098", "6 November 2098", "Stand: 06.11.1066", "November 2023", "1950", "Room 2 May 2019"),
)
def test_another_line_with_a_date_does_not(line: str):
    assert find_date({}, f"{line}\nText.", "a.txt") == {}


@for_each(
    "line, date",
    ("Stand: M\u00e4rz 2023", "2023-03"),
    ("Last updated: June 2023", "2023-06"),
    ("Kiel, im Mai 2021", "2021-05"),
    ("Edition 2022", "2022"),
    ("Stand 2022", "2022"),
    ("Edition of spring 2022", "2022"),
    ("Stand: 03/2022", "2022-03"),
    ("Stand 12.2021", "2021-12"),
    ("Halle 3, Stand: 4/2021", "2021-04"),
    ("Price list, as of 4/2021", "2021-04"),
    ("Rules (as of May 2022)", "2022-05"),
    ("Newsletter 12 (May 2022)", "2022-05"),
    ("Eskdale News, issue 7 (May 2022)", "2022-05"),
    ("Voyage 12 (May 2022)", None),
    ("Newsletter 12, next issue (May 2022)", None),
    ("Decision 03/2022", None),
    ("Stand: 13/2022", None),
    ("Stand: 03/2098", None),
    ("Valid until 03/2022", None),
    ("Landing of Mars 2020", None),
    ("Handbook, revision 4 (May 2022)", "2022-05"),
    ("Handbook (Edition 4 (May 2098)", None),
    ("Published: 1950", None),
    ("Prices valid from January 2022", "2022-01"),
    ("Coins valid from 1950", None),
    ("Deadline: March 2023", None),
    ("Trip to Rome, May 2019", None),
    ("Room 2022", None),
)
def test_a_month_or_a_year_dates_it_behind_a_label(line: str, date: str | None):
    assert find_date({}, f"{line}\nText.", "a.txt").get("date") == date


@for_each(
    "text, date",
    # A month in digits and a season give way to a day in another line.
    ("Stand: 05/2020\nLast updated: 3 May 2024", "2024-05-03"),
    ("Bericht\nStand: 03/2024\nDatum: 5.5.2024", "2024-05-05"),
    ("Stand: 03/2024\nBerlin, 5.5.2024", "2024-05-05"),
    ("Gemeindebrief\nAusgabe Herbst 2023\nErschienen\n3.9.2023", "2023-09-03"),
    ("Edition of winter 2024\n3 May 2025", "2025-05-03"),
    ("Updated summer 2020\nDate: 3 May 2021", "2021-05-03"),
    ("Stand: 05/2020\nValid until 3 May 2024", "2020-05"),
    ("5. 11.2023\nStand: 03/2020", "2023-11-05"),
    # Other months and years do not.
    ("Stand: M\u00e4rz 2023\nDatum: 5.5.2024", "2023-03"),
    ("Edition 2022\n3 May 2023", "2022"),
)
def test_the_first_line_decides_unless_it_is_vague(text: str, date: str):
    assert find_date({}, text, "a.txt")["date"] == date


@for_each(
    "title",
    *("Minutes of the yard committee of Eskdale, Halden and Norwick, 6 November 2023", "Rules as of 6 November 2023"),
    *(
        "Rules of the club (version of 6 November 2023)",
        "2023-11-06 - weekly report",
        "Protocol no. 17 of 6 Nov 2023, board",
    ),
    *("Last will of Ada Lund, 6 November 2023", "Satzung (Stand 06.11.2023)", "Protokoll Nr. 4 vom 6. November 2023"),
    *(
        "Letter from the bakery, Eskdale, 6 November 2023",
        "# Report \u2013 6 November 2023",
        "Budget, dated 2023-11-06",
    ),
    *("Team meeting 2023-11-06", "Board meeting, Monday 2023-11-06", "Circular of 6 November 2023 on expenses"),
    *("Letter of 6 November 2023", "Minutes of the meeting on 6 November 2023", "2023-11-06T09:30 Status of the pumps"),
    *("November 6, 2023: news from the zoo", "Rules of 1 May 2015, last changed 6 November 2023"),
    *("Newsletter 14, summer 2023, printed 6 November 2023", "Report on the pier, published on 6 November 2023"),
    *("Price list valid from 6.11.2023", "Tariff in force from 6 November 2023", "Ordnung, g\u00fcltig ab 6.11.2023"),
    *("Rules on the use of boats, valid from 6 November 2023", "Tariff no 4, valid from 6 November 2023"),
    *("Ordnung zum Schutz der B\u00e4ume, g\u00fcltig ab 6.11.2023", "Rules, amended, effective from 6 November 2023"),
    *("Fares of Eskdale Limited, effective from 6 November 2023", "Verbale della riunione del 6 novembre 2023"),
    *("Compte rendu de la r\u00e9union du 6 novembre 2023", "Acta de la reuni\u00f3n del 6 de noviembre de 2023"),
    *("stock_north, as at 6 November 2023", "Statutes as amended on 6 November 2023", "Sheet - print date 06.11.2023"),
)
def test_a_title_may_have_it_behind_other_words(title: str):
    dated = {"date": "2023-11-06", "date_in": "document"}

    assert find_date({}, f"\n{title}\n\nText.", "2020-01-01.txt") == dated
    assert find_date({}, "Text of 2 May 2019", "a.pdf", title) == dated


@for_each(
    "title",
    *("Rules until 6 November 2023", "Next meeting, 6 November 2023", "Ada Lund, 3 May 1960 - 6 November 2023"),
    *("The yard burnt down, 6 November 2023.", "Reply to your letter, 6 November 2023", "Rules from 6 November 2023"),
    *(
        "The treaty of 6 November 2023",
        "Plan, 6 November 2098",
        "Minutes, November 2023",
        "the day after, 6 November 2023",
    ),
    # Events, and references to another document.
    *("The flood of 6 November 2023", "Battle of 6 November 1923 at Eskdale", "Wedding of Ada and Bo 2023-11-06"),
    *("Copy of a letter of 6 November 2023", "Invitation to the meeting 6 November 2023", "Start of work 2023-11-06"),
    *("Your letter of 6 November 2023", "The meeting of 6 November 2023 on the dam", "Departure 2023-11-06T09:30"),
    # Something else or nothing came into force, or it came to its end.
    *("Old fares no longer valid from 1 April 2024", "Passes never valid since 1 April 2024"),
    *("Alte Karten, niemals mehr g\u00fcltig seit 1.4.2024", "Contract ended, effective from 1 April 2024"),
    *("Membership cancelled, effective from 1 May 2019", "Comments on the act in force since 1 May 1990"),
    *("Objections to the tariff effective from 1 May 2019", "Kommentar zum Gesetz in Kraft seit 1. Mai 1990"),
    *("Rules of 1 May 2015, repealed 6 November 2023", "The sheet as of 6 November 2023 for the new rules"),
    *("The prices are valid from 6 November 2023", "Offer valid from 1 May 2021 until 6 November 2023"),
    *("La r\u00e9union du 6 novembre 2023 est annul\u00e9e", "Carta del 6 de noviembre de 2023"),
    # Several lines that begin with dates, and a line of running text.
    "3 May 1990: the bridge opens\n4 June 1995: it closes",
    "The yard\nThe new dam was\napproved by the council on 3 May 1990\nand built.",
)
def test_a_title_with_another_date_does_not_date_it(title: str):
    assert find_date({}, f"{title}\nText.", "a.txt") == {}


@for_each(
    "name, date",
    ("Budget 2010-11.csv", None),
    ("season_2011-12.txt", None),
    ("Haushalt 1999-00.ods", None),
    ("report_2011-11.pdf", "2011-11"),
    ("part-2019-03-2020.txt", None),
    ("part 2019-03_04.txt", None),
    ("tel 2012-10 4455.txt", None),
    ("minutes 03-04-2023.txt", None),
    ("minutes 03_04_2023.txt", None),
    ("minutes 03.04.2023.txt", "2023-04-03"),
    ("12-25-2022 party.txt", "2022-12-25"),
    ("25-12-2022 party.txt", "2022-12-25"),
    ("IMG_20220131.jpg.txt", "2022-01-31"),
    ("plan 2098-01-02.txt", None),
    ("plan 2098-03.txt", None),
    ("price-list-2025.csv", "2025"),
    ("mooring fees 2024.txt", "2024"),
    ("2019_plan.txt", "2019"),
    ("2019 and 2020.txt", None),
    ("plan 2098.txt", None),
    ("model x2019.txt", None),
    ("2019-7 plan.txt", None),
    ("v2019.1 notes.txt", None),
    # The year of an event, and that of a report.
    ("fire of 1998.txt", None),
    ("Hochwasser von 2002.pdf", None),
    ("f\u00eate de 1989.odt", None),
    ("club_since_1926.md", None),
    ("report of 2019.txt", "2019"),
    ("Winter 2019.txt", "2019"),
)
def test_a_name_dates_it_only_if_its_digits_are_one_date(name: str, date: str | None):
    assert find_date({}, "", name).get("date") == date


@for_each("stated", "2098-01-02", "valid until 2021-03-04", "1066-03-04")
def test_a_field_that_is_no_date_of_writing_leaves_it_undated(stated: str):
    assert find_date({"date": stated}, "", "a.md") == {}


@given(st.text(), st.text())
def test_any_text_and_any_name_are_read(text: str, name: str):
    assert set(find_date({}, text, name)) in ({"date", "date_in"}, set())
