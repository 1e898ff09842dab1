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
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby, pairwise
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
# An edge is horizontal or vertical if its two ends differ by no more than this in the other direction, in points.
_SLANT = 0.5
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
# Two rows or columns have three borders. A frame with fewer borders is no table.
_LEAST_BORDERS = 3
# A frame with more borders in one direction than this is a drawing.
_MOST_BORDERS_ACROSS = 400
_MOST_BORDERS_DOWN = 60
# A colour is white if each of its three parts is at least this.
_WHITE = 250

_Point = tuple[float, float]
# Says where PDF puts a drawn object: (a, b, c, d, e, f) moves the point (x, y) to (a*x + c*y + e, b*x + d*y + f).
_Matrix = tuple[float, float, float, float, float, float]
# The matrix that moves nothing.
_IDENTITY: _Matrix = (1.0, 0.0, 0.0, 1.0, 0.0, 0.0)


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
        # The rows descend, but `bisect` needs ascending numbers.
        self._negative_rows = [-place for place in rows]

    @property
    def area(self) -> float:
        """The area of the whole frame, in square points."""
        return (self.columns[-1] - self.columns[0]) * (self.rows[0] - self.rows[-1])

    def cell_at(self, x: float, y: float) -> int | None:
        """Return the number of the cell at a point of the page; None if the point is outside the frame."""
        column = bisect_right(self.columns, x) - 1
        row = bisect_right(self._negative_rows, -y) - 1
        if 0 <= row < len(self.cells) and 0 <= column < len(self.cells[row]):
            return self.cells[row][column]
        return None

    def layout(self) -> list[list[int]]:
        """Return the numbers of the cells, row by row, without narrow rows and columns and without repetitions."""
        wide = [number for number, (left, right) in enumerate(pairwise(self.columns)) if right - left > _NARROW]
        high = [number for number, (top, bottom) in enumerate(pairwise(self.rows)) if top - bottom > _NARROW]
        cells = [[self.cells[row][column] for column in wide] for row in high]
        rows = _without_repetition(cells)
        columns = _without_repetition(_transposed(rows))
        return _transposed(columns)


def _without_repetition(rows: list[list[int]]) -> list[list[int]]:
    """Leave out each row that is equal to the row before it."""
    return [row for row, _ in groupby(rows)]


def _transposed(rows: list[list[int]]) -> list[list[int]]:
    """Return the columns of a table whose rows are passed, and the other way round."""
    return [list(column) for column in zip(*rows, strict=True)]


def find_rulings(page: PdfPage) -> tuple[list[Ruling], list[Ruling]]:
    """Find the visible horizontal and vertical lines of a page.

    :param page: The page object of pypdfium2.
    :returns: The horizontal lines and the vertical lines. Both are empty if the page has no lines, or too many.
    """
    horizontals: list[Ruling] = []
    verticals: list[Ruling] = []
    reader = _EdgeReader()
    for (x1, y1), (x2, y2) in reader.edges(page):
        is_wide = abs(x1 - x2) > _SLANT
        is_high = abs(y1 - y2) > _SLANT
        if is_wide and not is_high:
            horizontals.append(Ruling((y1 + y2) / 2, min(x1, x2), max(x1, x2)))
        elif is_high and not is_wide:
            verticals.append(Ruling((x1 + x2) / 2, min(y1, y2), max(y1, y2)))
    if reader.is_full:
        return [], []
    horizontals, verticals = _join(horizontals), _join(verticals)
    if len(horizontals) > _MOST_RULINGS or len(verticals) > _MOST_RULINGS:
        return [], []
    return horizontals, verticals


class _EdgeReader:
    """Reads the edges of what is drawn on a page. It calls PDFium directly, which is faster.

    After reading, ``is_full`` says whether the page has too much to be read.
    """

    def __init__(self) -> None:
        self.is_full = False
        self._object_count = 0
        self._edge_count = 0

    def edges(self, page: PdfPage) -> Iterator[tuple[_Point, _Point]]:
        """Yield the two ends of each visible edge on the page, in points. It stops if there are too many."""
        import pypdfium2.raw as raw

        yield from self._edges_in(page, raw.FPDFPage_CountObjects, raw.FPDFPage_GetObject, _IDENTITY, 0)

    def _edges_in(
        self,
        parent: PdfPage | FPDF_PAGEOBJECT,
        count: Callable[..., int],
        get: Callable[..., FPDF_PAGEOBJECT],
        matrix: _Matrix,
        level: int,
    ) -> Iterator[tuple[_Point, _Point]]:
        """Yield the edges of the objects of a page or of a form.

        :param parent: The page or the form.
        :param count: The function of PDFium that counts the objects of the parent.
        :param get: The function of PDFium that returns an object of the parent by its number.
        :param matrix: Says where the parent stands on the page.
        :param level: How many forms there are around the objects: 0 for the objects of the page.
        """
        import pypdfium2.raw as raw

        for number in range(count(parent)):
            self._object_count += 1
            if self._object_count > _MOST_OBJECTS or self._edge_count > _MOST_EDGES:
                self.is_full = True
            if self.is_full:
                return
            drawn = get(parent, number)
            kind = raw.FPDFPageObj_GetType(drawn)
            if kind == raw.FPDF_PAGEOBJ_PATH:
                yield from self._edges_of_path(drawn, matrix)
            elif kind == raw.FPDF_PAGEOBJ_FORM and level < _MOST_LEVELS:
                matrix_of_form = _joined_matrix(_matrix_of(drawn), matrix)
                yield from self._edges_in(
                    drawn, raw.FPDFFormObj_CountObjects, raw.FPDFFormObj_GetObject, matrix_of_form, level + 1
                )

    def _edges_of_path(self, path: FPDF_PAGEOBJECT, matrix: _Matrix) -> Iterator[tuple[_Point, _Point]]:
        """Yield the edges of a path. Of a thin filled rectangle, only its middle line is yielded."""
        import pypdfium2.raw as raw

        fill, stroke = ctypes.c_int(), ctypes.c_int()
        if not raw.FPDFPath_GetDrawMode(path, fill, stroke):
            return
        is_filled = bool(fill.value) and _is_visible(raw.FPDFPageObj_GetFillColor, path)
        is_stroked = bool(stroke.value) and _is_visible(raw.FPDFPageObj_GetStrokeColor, path)
        size = raw.FPDFPath_CountSegments(path) if is_filled or is_stroked else 0
        if self._edge_count + size > _MOST_EDGES:
            self.is_full = True
            return

        matrix_of_path = _joined_matrix(_matrix_of(path), matrix)
        for points in _outlines(path, size, matrix_of_path):
            self._edge_count += len(points)
            if is_stroked:
                yield from pairwise(points)
                continue
            middle_line = _middle_line(points)
            if middle_line:
                yield middle_line
            elif len(points) > 2:
                # A filled shape of only two points has no area, so nothing of it is seen.
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
    """Yield the points of each part of a path that is drawn with straight lines, without lifting the pen.

    A curve ends a part: the next part begins at the point where the curve ends.

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
    across = [x for x, _ in points]
    upward = [y for _, y in points]
    left, right = min(across), max(across)
    low, high = min(upward), max(upward)
    width, height = right - left, high - low
    if height <= min(_THIN, width):
        return (left, (low + high) / 2), (right, (low + high) / 2)
    if width <= _THIN:
        return ((left + right) / 2, low), ((left + right) / 2, high)
    return None


def _matrix_of(drawn: FPDF_PAGEOBJECT) -> _Matrix:
    """Return the matrix of a drawn object, which says where it stands."""
    import pypdfium2.raw as raw

    matrix = raw.FS_MATRIX()
    if not raw.FPDFPageObj_GetMatrix(drawn, matrix):
        return _IDENTITY
    return matrix.a, matrix.b, matrix.c, matrix.d, matrix.e, matrix.f


def _joined_matrix(inner: _Matrix, outer: _Matrix) -> _Matrix:
    """Return the matrix that moves a point first by ``inner`` and then by ``outer``."""
    if outer == _IDENTITY:
        return inner
    a, b, c, d, e, f = inner
    # (a, b) and (c, d) are directions, which are turned and scaled, but not moved to another place.
    outer_turn: _Matrix = (*outer[:4], 0.0, 0.0)
    return *_moved((a, b), outer_turn), *_moved((c, d), outer_turn), *_moved((e, f), outer)


def _moved(point: _Point, matrix: _Matrix) -> _Point:
    """Return where a point of a drawn object stands on the page."""
    a, b, c, d, e, f = matrix
    x, y = point
    return a * x + c * y + e, b * x + d * y + f


def _join(rulings: list[Ruling]) -> list[Ruling]:
    """Join the pieces of lines: pieces at nearly the same place that touch or overlap. Leave out short lines."""
    joined: list[Ruling] = []
    ordered = sorted(rulings)
    start = 0
    while start < len(ordered):
        # All pieces that are near the first of them get the same place: that of the middle piece.
        stop = bisect_right(ordered, ordered[start].place + _NEAR, key=attrgetter("place"))
        pieces = ordered[start:stop]
        place = pieces[(len(pieces) - 1) // 2].place
        joined += [Ruling(place, begin, end) for begin, end in _join_pieces(pieces)]
        start = stop
    return [ruling for ruling in joined if ruling.end - ruling.begin >= _SHORT]


def _join_pieces(pieces: Sequence[Ruling]) -> list[tuple[float, float]]:
    """Return where the lines begin and end that pieces at the same place form."""
    lines: list[tuple[float, float]] = []
    for _, begin, end in sorted(pieces, key=attrgetter("begin")):
        if lines and begin <= lines[-1][1] + _NEAR:
            line_begin, line_end = lines.pop()
            lines.append((line_begin, max(line_end, end)))
        else:
            lines.append((begin, end))
    return lines


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
        is_plausible = (
            _LEAST_BORDERS <= len(columns) <= _MOST_BORDERS_DOWN and _LEAST_BORDERS <= len(rows) <= _MOST_BORDERS_ACROSS
        )
        cells = _cells(columns, rows, group_across, group_down) if is_plausible else []
        if cells:
            frames.append(Frame(columns, rows, cells))
    return sorted(frames, key=attrgetter("area"), reverse=True)


def _groups(horizontals: Sequence[Ruling], verticals: Sequence[Ruling]) -> Iterator[tuple[list[Ruling], list[Ruling]]]:
    """Yield the horizontal and the vertical lines of each group that touch each other, directly or through others.

    Inside this function, ``across`` is the number of a horizontal line, and ``down`` that of a vertical line.
    """
    # For each horizontal line the vertical lines that it touches, and the other way round.
    touching_down: list[list[int]] = [[] for _ in horizontals]
    touching_across: list[list[int]] = [[] for _ in verticals]
    # The vertical lines from the left, so that those within the width of a horizontal line are found quickly.
    ordered = sorted(range(len(verticals)), key=lambda down: verticals[down].place)
    places = [verticals[down].place for down in ordered]
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
        group_across = [start]
        # A dict and not a set, because the order decides about the last bit of sums of lengths.
        group_down = dict.fromkeys(touching_down[start])
        # The vertical lines whose horizontal lines are not in the group yet.
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
        yield [horizontals[across] for across in group_across], [verticals[down] for down in group_down]


def _borders(rulings: Sequence[Ruling], crossing: Sequence[Ruling]) -> list[float]:
    """Return the places of the borders that lines form, in ascending order.

    An open side of a frame, where the crossing lines just end, is a border, too.
    """
    places = sorted({ruling.place for ruling in rulings})
    begin = min(ruling.begin for ruling in crossing)
    end = max(ruling.end for ruling in crossing)
    if begin < places[0] - _OPEN:
        places.insert(0, begin)
    if end > places[-1] + _OPEN:
        places.append(end)
    return places


def _cells(
    columns: Sequence[float], rows: Sequence[float], across: Sequence[Ruling], down: Sequence[Ruling]
) -> list[list[int]]:
    """Join the small cells between all borders where no line divides them.

    The small cells are numbered row by row. A joined cell has the number of the first of its small cells.

    :returns: The number of the joined cell, for each row and column. Empty if a joined cell is no rectangle.
    """
    width = len(columns) - 1
    height = len(rows) - 1
    # For each small cell an earlier one with which it is joined, or itself if it is the first: a union-find structure.
    earlier = list(range(width * height))

    def first_of(cell: int) -> int:
        """Return the first of the cells that are joined with a cell. Shorten the way to it for the next call."""
        while earlier[cell] != cell:
            earlier[cell] = earlier[earlier[cell]]
            cell = earlier[cell]
        return cell

    def join(cell: int, neighbour: int) -> None:
        """Join two cells."""
        first, second = sorted((first_of(cell), first_of(neighbour)))
        earlier[second] = first

    lines_down = _by_place(columns, down)
    lines_across = _by_place(rows, across)
    for row, (top, bottom) in enumerate(pairwise(rows)):
        for column, (left, right) in enumerate(pairwise(columns)):
            cell = row * width + column
            if column and not _is_covered(lines_down.get(columns[column], ()), bottom, top):
                join(cell, cell - 1)
            if row and not _is_covered(lines_across.get(rows[row], ()), left, right):
                join(cell, cell - width)

    joined: dict[int, list[int]] = defaultdict(list)
    for cell in range(width * height):
        joined[first_of(cell)].append(cell)
    if not all(_is_rectangle(cells, width) for cells in joined.values()):
        return []
    numbers = [first_of(cell) for cell in range(width * height)]
    return [numbers[begin : begin + width] for begin in range(0, len(numbers), width)]


def _is_rectangle(cells: Sequence[int], width: int) -> bool:
    """Check whether small cells that are joined form a rectangle. A row of the frame has ``width`` small cells."""
    rows = {cell // width for cell in cells}
    columns = {cell % width for cell in cells}
    return len(cells) == len(rows) * len(columns)


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
