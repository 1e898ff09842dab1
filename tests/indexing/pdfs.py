"""Make small PDFs by hand, so that tests know every byte."""

from collections.abc import Sequence

_FONT = "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"
# 50 by 50 grey points.
_PICTURE = (
    "<< /Type /XObject /Subtype /Image /Width 50 /Height 50 /ColorSpace /DeviceGray /BitsPerComponent 8 /Length 2500 >>"
    f"\nstream\n{'z' * 2500}\nendstream"
)


def make_pdf(pages: Sequence[str | None], title: str | None = None, bookmarks: Sequence[tuple[str, int]] = ()) -> bytes:
    """Write a PDF.

    :param pages: The text of each page, its lines separated by newlines; None for a page that is a picture.
    :param title: The title in its metadata.
    :param bookmarks: The words and the page of each bookmark, counted from 0.
    """
    first = 6 + len(bookmarks)
    kids = " ".join(f"{first + 2 * i} 0 R" for i in range(len(pages)))
    outline = [
        f"<< /Title ({words}) /Parent 5 0 R /Dest [{first + 2 * page} 0 R /Fit] "
        + (f"/Next {7 + number} 0 R >>" if number + 1 < len(bookmarks) else ">>")
        for number, (words, page) in enumerate(bookmarks)
    ]
    bodies = [
        "<< /Type /Catalog /Pages 2 0 R /Outlines 5 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>",
        _FONT,
        _PICTURE,
        f"<< /First 6 0 R /Last {5 + len(bookmarks)} 0 R >>" if bookmarks else "<< >>",
        *outline,
    ]
    for i, page in enumerate(pages):
        shown = "".join(f"({line}) Tj T* " for line in (page or "").split("\n") if line)
        stream = "/P Do" if page is None else f"BT /F1 12 Tf 14 TL 72 720 Td {shown}ET"
        bodies.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {first + 1 + 2 * i} 0 R "
            "/Resources << /Font << /F1 3 0 R >> /XObject << /P 4 0 R >> >> >>"
        )
        bodies.append(f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream")
    bodies.append(f"<< /Title ({title}) >>" if title else "<< >>")
    return _write(bodies, f"/Info {len(bodies)} 0 R")


def make_placed_pdf(page: Sequence[tuple[int, int, str]]) -> bytes:
    """Write a page of lines in the given order, each with its distance from the left and from the bottom in points."""
    return make_drawn_pdf([place_lines(page)])


def place_lines(page: Sequence[tuple[int, int, str]]) -> str:
    """Return the operators that write lines, each with its distance from the left and from the bottom in points."""
    shown = "".join(f"1 0 0 1 {left} {bottom} Tm ({line}) Tj " for left, bottom, line in page)
    return f"BT /F1 10 Tf {shown}ET"


def make_drawn_pdf(streams: Sequence[str]) -> bytes:
    """Write a page for each stream of PDF operators."""
    kids = " ".join(f"{4 + 2 * number} 0 R" for number in range(len(streams)))
    bodies = ["<< /Type /Catalog /Pages 2 0 R >>", f"<< /Type /Pages /Kids [{kids}] /Count {len(streams)} >>", _FONT]
    for number, stream in enumerate(streams):
        bodies += [
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {5 + 2 * number} 0 R "
            "/Resources << /Font << /F1 3 0 R >> >> >>",
            f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream",
        ]
    return _write(bodies)


def make_composite_pdf(words: Sequence[str], known: bool = True) -> bytes:
    """Write words as XeTeX does: letters by their numbers in a composite font, and gaps by moving instead of blanks.

    :param words: The words, a few on a line.
    :param known: Whether the font says which letter each number is.
    """
    letters = sorted(set("".join(words)))
    codes = {letter: f"{number:04x}" for number, letter in enumerate(letters, start=1)}
    lines = [words[start : start + 6] for start in range(0, len(words), 6)]
    shown = [" -333 ".join(f"<{''.join(codes[letter] for letter in word)}>" for word in line) for line in lines]
    stream = "BT /F1 12 Tf 14 TL 72 760 Td " + "".join(f"[{line}] TJ T* " for line in shown) + "ET"
    named = "\n".join(f"<{codes[letter]}> <{ord(letter) if known else 0xE000 + ord(letter):04x}>" for letter in letters)
    unicode = (
        "/CIDInit /ProcSet findresource begin begincmap 1 begincodespacerange <0000> <ffff> endcodespacerange\n"
        f"{len(letters)} beginbfchar\n{named}\nendbfchar endcmap"
    )
    return _write(
        [
            "<< /Type /Catalog /Pages 2 0 R >>",
            "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R "
            "/Resources << /Font << /F1 5 0 R >> >> >>",
            f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream",
            "<< /Type /Font /Subtype /Type0 /BaseFont /Made /Encoding /Identity-H /DescendantFonts [6 0 R] "
            "/ToUnicode 7 0 R >>",
            "<< /Type /Font /Subtype /CIDFontType2 /BaseFont /Made /DW 500 /CIDSystemInfo << /Registry (Adobe) "
            "/Ordering (Identity) /Supplement 0 >> /FontDescriptor 8 0 R >>",
            f"<< /Length {len(unicode)} >>\nstream\n{unicode}\nendstream",
            "<< /Type /FontDescriptor /FontName /Made /Flags 4 /FontBBox [0 0 500 700] /ItalicAngle 0 /Ascent 700 "
            "/Descent 0 /CapHeight 700 /StemV 80 >>",
        ]
    )


def make_encrypted_pdf() -> bytes:
    """Write a PDF that can only be opened with a password."""
    secret = "<< /Filter /Standard /V 1 /R 2 /P -4 /O <" + "ab" * 32 + "> /U <" + "cd" * 32 + "> >>"
    pages = "<< /Type /Pages /Kids [] /Count 0 >>"
    return _write(["<< /Type /Catalog /Pages 2 0 R >>", pages, secret], "/Encrypt 3 0 R /ID [<01> <01>]")


def make_endless_pdf() -> bytes:
    """Write 3 kB that show a word a hundred million times, by forms that call forms."""
    forms = []
    for number in range(9):
        called = f"/X{number + 1} Do " * 10 if number < 8 else "BT /F1 9 Tf (lol) Tj ET"
        forms.append(
            f"<< /Type /XObject /Subtype /Form /BBox [0 0 600 800] /Resources << /Font << /F1 5 0 R >> "
            f"/XObject << /X{number + 1} {7 + number} 0 R >> >> /Length {len(called)} >>\nstream\n{called}\nendstream"
        )
    page = (
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents 4 0 R "
        "/Resources << /Font << /F1 5 0 R >> /XObject << /X0 6 0 R >> >> >>"
    )
    stream = "<< /Length 6 >>\nstream\n/X0 Do\nendstream"
    pages = "<< /Type /Pages /Kids [3 0 R] /Count 1 >>"
    return _write(["<< /Type /Catalog /Pages 2 0 R >>", pages, page, stream, _FONT, *forms])


def _write(bodies: Sequence[str], trailer: str = "") -> bytes:
    data = b"%PDF-1.5\n"
    offsets = []
    for number, body in enumerate(bodies, start=1):
        offsets.append(len(data))
        data += f"{number} 0 obj\n{body}\nendobj\n".encode("latin-1")
    table = "".join(f"{offset:010d} 00000 n \n" for offset in offsets)
    size = len(bodies) + 1
    data += (
        f"xref\n0 {size}\n0000000000 65535 f \n{table}trailer\n<< /Size {size} /Root 1 0 R {trailer} >>\n"
        f"startxref\n{len(data)}\n%%EOF\n"
    ).encode("latin-1")
    return data
