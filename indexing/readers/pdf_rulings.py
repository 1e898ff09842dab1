"""Find the ruling lines of a PDF page, and the frames of cells that they form.

A table on a page is drawn, not written: the PDF has lines, thin rectangles and filled backgrounds, and says nowhere
that they are a table. This module reads what is drawn, and joins it to frames:

1. Read the straight lines and the edges of rectangles, and leave out what is white (:func:`find_rulings`).
2. Join pieces of the same line. Many programs draw a line for each cell.
3. Lines that touch each other form a frame. Its lines divide it into cells (:func:`find_frames`).

The module :mod:`pdf_tables` writes the words of the page into the cells.
"""

from __future__ import annotations

import ctypes
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from pypdfium2 import PdfPage
    from pypdfium2.raw import FPDF_PAGEOBJECT

# A page with more drawn objects or more edges than this is a drawing or a map. Then no rulings are read.
_MOST_OBJECTS = 100_000
_MOST_EDGES = 20_000
# A page with more joined lines of one direction than this is a drawing, too.
_MOST_RULINGS = 800
# A form is a drawing that is called by its name. A form may call forms. Forms below this many levels are not read.
_MOST_LEVELS = 4
# A rectangle that is not wider or not higher than this is a line, in points.
_THIN = 3.0
# Two lines are the same line, or touch each other, if their distance is not more than this, in points.
_NEAR = 2.5
# A joined line that is shorter than this is no line, in points.
_SHORT = 6.0
# A row or column of a frame that is not wider than this holds no text, in points.
_NARROW = 5.0
# A line that reaches over the last crossing line by more than this has a cell behind that line, in points.
_OPEN = 15.0
# A line is the border of a cell if it covers this share of the side of the cell.
_COVERED = 0.7
# A frame with more rows or columns than this is a drawing.
_MOST_ROWS = 400
_MOST_COLUMNS = 60
# A colour is white if each of its three parts is at least this.
_WHITE = 250

_Point = tuple[float, float]
_Matrix = tuple[float, float, float, float, float, float]
_SAME: _Matrix = (1.0, 0.0, 0.0, 1.0, 0.0, 0.0)


class Ruling(NamedTuple):
    """A horizontal or a vertical line.

    :param place: Its distance from the bottom of the page if it is horizontal, or else from the left, in points.
    :param begin: Where it begins, in the other direction.
    :param end: Where it ends.
    """

    place: float
    begin: float
    end: float


class Frame:
    """The cells that touching lines form.

    :param columns: The places of the vertical borders, from the left.
    :param rows: The places of the horizontal borders, from the top.
    :param cells: For each row between two borders, and each column between two borders: the number of the cell. A cell
        may cover several rows and columns.
    """

    def __init__(self, columns: list[float], rows: list[float], cells: list[list[int]]) -> None:
        self.columns = columns
        self.rows = rows
        self.cells = cells
        self._lower = [-place for place in rows]

    def cell_at(self, x: float, y: float) -> int | None:
        """Return the number of the cell at a point of the page; None if the point is outside the frame."""
        column = bisect_right(self.columns, x) - 1
        row = bisect_right(self._lower, -y) - 1
        if 0 <= row < len(self.cells) and 0 <= column < len(self.cells[row]):
            return self.cells[row][column]
        return None

    def layout(self) -> list[list[int]]:
        """Return the numbers of the cells, row by row, without narrow rows and columns and without repetitions."""
        wide = [number for number, (left, right) in enumerate(pairwise(self.columns)) if right - left > _NARROW]
        high = [number for number, (top, bottom) in enumerate(pairwise(self.rows)) if top - bottom > _NARROW]
        rows = _without_repetition([[self.cells[row][column] for column in wide] for row in high])
        columns = _without_repetition([list(column) for column in zip(*rows, strict=True)])
        return [list(row) for row in zip(*columns, strict=True)]


def _without_repetition(rows: list[list[int]]) -> list[list[int]]:
    """Leave out each row that is equal to the row before it."""
    return [row for number, row in enumerate(rows) if not number or row != rows[number - 1]]


def find_rulings(page: PdfPage) -> tuple[list[Ruling], list[Ruling]]:
    """Find the visible horizontal and vertical lines of a page.

    :param page: The page object of pypdfium2.
    :returns: The horizontal lines and the vertical lines. Both are empty if the page has no lines, or too many.
    """
    horizontals: list[Ruling] = []
    verticals: list[Ruling] = []
    reader = _Reader()
    for (x1, y1), (x2, y2) in reader.edges(page):
        if abs(y1 - y2) <= _NEAR / 5 < abs(x1 - x2):
            horizontals.append(Ruling((y1 + y2) / 2, min(x1, x2), max(x1, x2)))
        elif abs(x1 - x2) <= _NEAR / 5 < abs(y1 - y2):
            verticals.append(Ruling((x1 + x2) / 2, min(y1, y2), max(y1, y2)))
    if reader.is_full:
        return [], []
    joined = _join(horizontals), _join(verticals)
    return joined if max(map(len, joined)) <= _MOST_RULINGS else ([], [])


class _Reader:
    """Reads the edges of what is drawn on a page. It calls PDFium directly, which is faster.

    After reading, ``is_full`` says whether the page has too much to be read.
    """

    def __init__(self) -> None:
        self.is_full = False
        self._objects = 0
        self._edges = 0

    def edges(self, page: PdfPage) -> Iterator[tuple[_Point, _Point]]:
        """Yield the two ends of each visible edge on the page, in points. It stops if there are too many."""
        import pypdfium2.raw as raw

        yield from self._objects_in(page, raw.FPDFPage_CountObjects, raw.FPDFPage_GetObject, _SAME, 0)

    def _objects_in(
        self,
        parent: PdfPage | FPDF_PAGEOBJECT,
        count: Callable[..., int],
        get: Callable[..., FPDF_PAGEOBJECT],
        matrix: _Matrix,
        level: int,
    ) -> Iterator[tuple[_Point, _Point]]:
        """Yield the edges of the objects of a page or of a form.

        :param parent: The page or the form.
        :param count: The function that counts its objects.
        :param get: The function that returns one of them.
        :param matrix: Says where the form stands on the page.
        :param level: In how many forms it stands.
        """
        import pypdfium2.raw as raw

        for number in range(count(parent)):
            self._objects += 1
            if self._objects > _MOST_OBJECTS or self._edges > _MOST_EDGES:
                self.is_full = True
            if self.is_full:
                return
            drawn = get(parent, number)
            kind = raw.FPDFPageObj_GetType(drawn)
            if kind == raw.FPDF_PAGEOBJ_PATH:
                yield from self._path(drawn, matrix)
            elif kind == raw.FPDF_PAGEOBJ_FORM and level < _MOST_LEVELS:
                inner = _joined_matrix(_matrix_of(drawn), matrix)
                yield from self._objects_in(
                    drawn, raw.FPDFFormObj_CountObjects, raw.FPDFFormObj_GetObject, inner, level + 1
                )

    def _path(self, path: FPDF_PAGEOBJECT, matrix: _Matrix) -> Iterator[tuple[_Point, _Point]]:
        """Yield the edges of a path. Of a thin filled rectangle, only its middle line is yielded."""
        import pypdfium2.raw as raw

        fill, stroke = ctypes.c_int(), ctypes.c_int()
        if not raw.FPDFPath_GetDrawMode(path, fill, stroke):
            return
        is_filled = bool(fill.value) and _is_visible(raw.FPDFPageObj_GetFillColor, path)
        is_stroked = bool(stroke.value) and _is_visible(raw.FPDFPageObj_GetStrokeColor, path)
        size = raw.FPDFPath_CountSegments(path) if is_filled or is_stroked else 0
        if self._edges + size > _MOST_EDGES:
            self.is_full = True
            return

        whole = _joined_matrix(_matrix_of(path), matrix)
        for points in _outlines(path, size, whole):
            self._edges += len(points)
            thin = None if is_stroked else _middle_line(points)
            if thin:
                yield thin
            elif is_stroked or len(points) > 2:
                yield from pairwise(points)


def _is_visible(read: Callable[..., int], path: FPDF_PAGEOBJECT) -> bool:
    """Check whether a path is drawn in a colour that is not white. A pattern counts as a colour.

    :param read: The function of PDFium that reads the colour.
    :param path: The path.
    """
    red, green, blue, opacity = (ctypes.c_uint() for _ in range(4))
    if not read(path, red, green, blue, opacity):
        return True
    return opacity.value > 0 and min(red.value, green.value, blue.value) < _WHITE


def _outlines(path: FPDF_PAGEOBJECT, size: int, matrix: _Matrix) -> Iterator[list[_Point]]:
    """Yield the points of each part of a path that is drawn without lifting the pen. A curve divides it, too.

    :param path: The path.
    :param size: The number of its segments.
    :param matrix: Says where the path stands on the page.
    """
    import pypdfium2.raw as raw

    x, y = ctypes.c_float(), ctypes.c_float()
    points: list[_Point] = []
    for number in range(size):
        segment = raw.FPDFPath_GetPathSegment(path, number)
        raw.FPDFPathSegment_GetPoint(segment, x, y)
        if raw.FPDFPathSegment_GetType(segment) != raw.FPDF_SEGMENT_LINETO:
            if len(points) > 1:
                yield points
            points = []
        points.append(_moved((x.value, y.value), matrix))
        if raw.FPDFPathSegment_GetClose(segment) and points[-1] != points[0]:
            points.append(points[0])
    if len(points) > 1:
        yield points


def _middle_line(points: Sequence[_Point]) -> tuple[_Point, _Point] | None:
    """Return the middle line of a thin shape, such as a line drawn as a rectangle; None if the shape is not thin."""
    left, right = min(x for x, _ in points), max(x for x, _ in points)
    low, high = min(y for _, y in points), max(y for _, y in points)
    if high - low <= min(_THIN, right - left):
        return (left, (low + high) / 2), (right, (low + high) / 2)
    if right - left <= _THIN:
        return ((left + right) / 2, low), ((left + right) / 2, high)
    return None


def _matrix_of(drawn: FPDF_PAGEOBJECT) -> _Matrix:
    """Return the matrix of a drawn object, which says where it stands."""
    import pypdfium2.raw as raw

    matrix = raw.FS_MATRIX()
    if not raw.FPDFPageObj_GetMatrix(drawn, matrix):
        return _SAME
    return matrix.a, matrix.b, matrix.c, matrix.d, matrix.e, matrix.f


def _joined_matrix(inner: _Matrix, outer: _Matrix) -> _Matrix:
    """Return the matrix that first does ``inner`` and then ``outer``."""
    if outer == _SAME:
        return inner
    a, b, c, d, e, f = inner
    g, h, i, j, k, l = outer  # noqa: E741
    return a * g + b * i, a * h + b * j, c * g + d * i, c * h + d * j, e * g + f * i + k, e * h + f * j + l


def _moved(point: _Point, matrix: _Matrix) -> _Point:
    """Return where a point of a drawn object stands on the page."""
    a, b, c, d, e, f = matrix
    x, y = point
    return a * x + c * y + e, b * x + d * y + f


def _join(rulings: list[Ruling]) -> list[Ruling]:
    """Join the pieces of lines: pieces at nearly the same place that touch or overlap."""
    joined: list[Ruling] = []
    rulings.sort()
    start = 0
    while start < len(rulings):
        # All lines that are near the first of them get the same place.
        after = bisect_right(rulings, rulings[start].place + _NEAR, key=attrgetter("place"))
        place = rulings[(start + after - 1) // 2].place
        begin = end = None
        for _, piece_begin, piece_end in sorted(rulings[start:after], key=attrgetter("begin")):
            if begin is None or end is None:
                begin, end = piece_begin, piece_end
            elif piece_begin <= end + _NEAR:
                end = max(end, piece_end)
            else:
                joined.append(Ruling(place, begin, end))
                begin, end = piece_begin, piece_end
        if begin is not None and end is not None:
            joined.append(Ruling(place, begin, end))
        start = after
    return [ruling for ruling in joined if ruling.end - ruling.begin >= _SHORT]


def find_frames(horizontals: Sequence[Ruling], verticals: Sequence[Ruling]) -> list[Frame]:
    """Find the frames that horizontal and vertical lines form.

    :param horizontals: The horizontal lines.
    :param verticals: The vertical lines.
    :returns: The frames with at least two rows and two columns whose cells are rectangles, the largest first.
    """
    frames = []
    for group_across, group_down in _groups(horizontals, verticals):
        columns = _borders(group_down, group_across)
        rows = _borders(group_across, group_down)[::-1]
        if not 3 <= len(columns) <= _MOST_COLUMNS or not 3 <= len(rows) <= _MOST_ROWS:
            continue
        cells = _cells(columns, rows, group_across, group_down)
        if cells:
            frames.append(Frame(columns, rows, cells))

    def area(frame: Frame) -> float:
        """Return the area of a frame."""
        return (frame.columns[-1] - frame.columns[0]) * (frame.rows[0] - frame.rows[-1])

    return sorted(frames, key=area, reverse=True)


def _groups(horizontals: Sequence[Ruling], verticals: Sequence[Ruling]) -> Iterator[tuple[list[Ruling], list[Ruling]]]:
    """Yield the lines that touch each other, directly or through other lines."""
    # The numbers of the vertical lines that each horizontal line touches, and the other way round.
    touching_down: list[list[int]] = [[] for _ in horizontals]
    touching_across: list[list[int]] = [[] for _ in verticals]
    ordered = sorted(range(len(verticals)), key=lambda number: verticals[number].place)
    places = [verticals[number].place for number in ordered]
    for across, ruling in enumerate(horizontals):
        first = bisect_left(places, ruling.begin - _NEAR)
        last = bisect_right(places, ruling.end + _NEAR)
        for down in ordered[first:last]:
            if verticals[down].begin - _NEAR <= ruling.place <= verticals[down].end + _NEAR:
                touching_down[across].append(down)
                touching_across[down].append(across)

    done: set[int] = set()
    for start in range(len(horizontals)):
        if start in done or not touching_down[start]:
            continue
        done.add(start)
        group_across, group_down = [start], dict.fromkeys(touching_down[start])
        waiting = list(group_down)
        while waiting:
            for across in touching_across[waiting.pop()]:
                if across in done:
                    continue
                done.add(across)
                group_across.append(across)
                fresh = [down for down in touching_down[across] if down not in group_down]
                group_down |= dict.fromkeys(fresh)
                waiting += fresh
        yield [horizontals[number] for number in group_across], [verticals[number] for number in group_down]


def _borders(rulings: Sequence[Ruling], crossing: Sequence[Ruling]) -> list[float]:
    """Return the places of the borders that lines form, in ascending order.

    An open side of a frame, where the crossing lines just end, is a border, too.
    """
    places = sorted({ruling.place for ruling in rulings})
    begin, end = min(ruling.begin for ruling in crossing), max(ruling.end for ruling in crossing)
    if begin < places[0] - _OPEN:
        places.insert(0, begin)
    if end > places[-1] + _OPEN:
        places.append(end)
    return places


def _cells(
    columns: Sequence[float], rows: Sequence[float], across: Sequence[Ruling], down: Sequence[Ruling]
) -> list[list[int]]:
    """Join the small cells between all borders where no line divides them.

    :returns: The number of the cell, for each row and column. Empty if a cell is no rectangle.
    """
    width = len(columns) - 1
    # The number of another cell that is joined with each cell. At the end, the number of the first of them.
    joined = list(range(width * (len(rows) - 1)))

    def first_of(cell: int) -> int:
        """Return the number of the first cell of those that are joined."""
        while joined[cell] != cell:
            joined[cell] = joined[joined[cell]]
            cell = joined[cell]
        return cell

    def join(one_cell: int, other_cell: int) -> None:
        """Join two cells."""
        first, second = sorted((first_of(one_cell), first_of(other_cell)))
        joined[second] = first

    lines_down = _by_place(columns, down)
    lines_across = _by_place(rows, across)
    for row, (top, bottom) in enumerate(pairwise(rows)):
        for column, (left, right) in enumerate(pairwise(columns)):
            cell = row * width + column
            if column and not _is_covered(lines_down.get(columns[column], ()), bottom, top):
                join(cell - 1, cell)
            if row and not _is_covered(lines_across.get(rows[row], ()), left, right):
                join(cell - width, cell)

    boxes: dict[int, tuple[int, int, int, int, int]] = {}
    for cell in range(len(joined)):
        row, column = divmod(cell, width)
        first_row, first_column, last_row, last_column, size = boxes.get(first_of(cell), (row, column, row, column, 0))
        boxes[first_of(cell)] = (
            min(row, first_row),
            min(column, first_column),
            max(row, last_row),
            max(column, last_column),
            size + 1,
        )
    if any((box[2] - box[0] + 1) * (box[3] - box[1] + 1) != box[4] for box in boxes.values()):
        return []
    return [[first_of(row * width + column) for column in range(width)] for row in range(len(rows) - 1)]


def _by_place(borders: Sequence[float], rulings: Sequence[Ruling]) -> dict[float, list[Ruling]]:
    """Return the lines at each border."""
    lines: dict[float, list[Ruling]] = {border: [] for border in borders}
    for ruling in rulings:
        lines[ruling.place].append(ruling)
    return lines


def _is_covered(rulings: Sequence[Ruling], begin: float, end: float) -> bool:
    """Check whether lines at a border cover most of a side of a cell."""
    covered = sum(max(0.0, min(end, ruling.end) - max(begin, ruling.begin)) for ruling in rulings)
    return covered >= _COVERED * (end - begin)
