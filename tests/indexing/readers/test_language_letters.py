"""The encoding of a text by the letters of its language."""

from __future__ import annotations

from prefrag.indexing.readers.language_letters import encoding_of_letters
from prefrag.indexing.readers.text_decoding import decode_text
from tests.for_each import for_each

POLISH = "Łódź stoi za pomostem. Opłata wynosi pięć złotych, a żona właściciela ją przyjmuje. „Proszę” \u2013 mówi."
TURKISH = "İskele sabah dokuzda aç\u0131l\u0131r ve akşam kapan\u0131r. Ücret gecelik dokuz lirad\u0131r, çocuklar için yelek şartt\u0131r."
HUNGARIAN = "A kikötő reggel kilenckor nyit. A díj éjszakánként kilenc euró. Fűtött öltöző áll rendelkezésre."
ROMANIAN = "Grădina se află în spatele bisericii. Fiecare membru plăteşte şi primeşte o cheie până în toamnă."
CZECH = "Přístav se otvírá v devět hodin. Poplatek činí padesát korun za noc a loď musí být zajištěna."
CROATIAN = "Luka se otvara u devet. Članovi plaćaju što prije, a ključ čuva čuvar koji će doći uvečer. Još ništa."
LITHUANIAN = (
    "Prieplauka atidaroma devintą. Nariai moka mokestį, o raktą saugo sargas, kuris ateina vėlai naktį, už bažnyčios."
)
GERMAN = "Der Hafen öffnet um neun. Die Gebühr beträgt für jede Nacht fünf Euro, und der Schlüssel hängt draußen."
FRENCH = (
    "Le port ouvre à neuf heures. La clé est accrochée derrière l\u2019église, où le gardien la reçoit. Ça coûte 5 €."
)
ICELANDIC = "Höfnin opnar klukkan níu. Gjaldið er þrjú hundruð krónur á nótt og lykillinn hangir við dyrnar þar."
DANISH = (
    "Havnen åbner klokken ni. Prisen er ti kroner for børn, og nøglen hænger på døren ved søen. Idé: gå på æblejagt."
)
ENGLISH = (
    f"{'The quay opens at nine and closes at five. ' * 3}Søren, Père Bjørn and Mère Kjær pay later, as Børge does."
)


@for_each(
    "text, encoding",
    (POLISH.translate({0x201E: '"', 0x201D: '"', 0x2013: "-"}), "iso8859_2"),
    (POLISH, "cp1250"),
    (TURKISH, "cp1254"),
    (TURKISH, "iso8859_9"),
    (HUNGARIAN, "cp1250"),
    (HUNGARIAN, "iso8859_2"),
    (ROMANIAN, "iso8859_2"),
    (CZECH, "cp1250"),
    (CZECH, "iso8859_2"),
    (CROATIAN, "cp1250"),
    (LITHUANIAN, "cp1257"),
    *((text, "mac_roman") for text in (GERMAN, FRENCH, DANISH, "Señor Núñez pagará la habitación según dirección.")),
)
def test_a_text_is_read_in_the_letters_of_its_language(text: str, encoding: str) -> None:
    assert decode_text(text.encode(encoding)) == text
    assert decode_text((text * 20).encode(encoding)) == text * 20


@for_each(
    "text",
    "The key of Uwe Brügg of Köln hangs in the café.",
    "It\u2019s Martha\u2019s café.",
)
def test_capitals_inside_words_show_a_short_text_of_a_mac(text: str) -> None:
    assert decode_text(text.encode("mac_roman")) == text


@for_each("text", GERMAN, FRENCH, ICELANDIC, DANISH, ENGLISH, f"{GERMAN} {FRENCH}")
def test_a_text_of_western_europe_is_left_to_its_encoding(text: str) -> None:
    data = text.encode("cp1252")

    assert encoding_of_letters(data) is None
    assert encoding_of_letters(data * 20) is None
    assert decode_text(data * 20) == text * 20


@for_each(
    "text, encoding",
    ("привет всем, ключ под камнем, за углом", "cp1251"),
    ("Καλημέρα, το κλειδί είναι εδώ.", "cp1253"),
    ("мост, сок, ток, космос", "cp1251"),
    (FRENCH.translate({0x2019: "'", 0x20AC: "E"}), "cp850"),
    (GERMAN, "cp850"),
    ("Jörg saß im Hafen.", "mac_roman"),
)
def test_letters_of_other_scripts_tell_nothing(text: str, encoding: str) -> None:
    assert encoding_of_letters(text.encode(encoding)) is None
