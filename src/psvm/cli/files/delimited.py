"""CSV and TSV files, of any size, a block of lines at a time."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial

import polars as pl

from psvm.cli.errors import DataError, Problem, refuse
from psvm.cli.files.sources import BYTE_ORDER_MARK, Source
from psvm.cli.files.tables import TableBlock

_WORDS = {2: "two", 3: "three"}
_DELIMITERS = ",\t;|"


class DelimitedFile:
    """A text file of records, whose first line names the columns.

    All values are read as text; what they mean is decided where they are used.

    Parameters
    ----------
    source : Source
        The file.
    delimiter : str or None
        What separates the fields; None finds it out.
    header : bool
        Whether the first line has the names. If not, the columns are "1", "2", ...
    """

    def __init__(self, source: Source, *, delimiter: str | None = None, header: bool = True):
        self.name = source.name
        if source.head.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0" in source.head:
            raise DataError(self.name, "the text is not UTF-8: save it as UTF-8")
        self._records = _whole_records(source)
        first = next(self._records).removeprefix(BYTE_ORDER_MARK)
        sample = self._decode(first[: 1 << 16].rpartition(b"\n")[0] or first, line=1)
        self.delimiter = delimiter or _sniff_delimiter(sample)
        reader = csv.reader(io.StringIO(sample, newline=""), delimiter=self.delimiter)
        fields = [field.strip() for field in next(reader)]
        if not any(fields):
            raise DataError(
                self.name, "the line is blank: it must name the columns", place="line 1"
            )
        end = _offset_of_line(first, reader.line_num)
        self._first, self._line = (first[end:], reader.line_num + 1) if header else (first, 1)
        self.columns = fields if header else [str(i + 1) for i in range(len(fields))]
        self._check_names()

    def _check_names(self) -> None:
        advice = "rename them, or use --no-header"
        nameless = [str(number) for number, name in enumerate(self.columns, 1) if not name]
        problems = [
            Problem(f"column {number} has no name", advice, "line 1") for number in nameless
        ]
        counts = Counter(name for name in self.columns if name)
        problems += [
            Problem(f"{_WORDS.get(count, count)} columns are called {name!r}", advice, "line 1")
            for name, count in counts.items()
            if count > 1
        ]
        refuse(self.name, problems)

    def blocks(self, columns: Sequence[str]) -> Iterator[TableBlock]:
        """The rows in order, with the named columns only; at least one block, even if empty."""
        block: bytes | None = self._first
        while block is not None:
            after = next(self._records, None)
            text = block if after is not None else block.rstrip(b"\r\n")
            yield self._parse(text, self._line, columns)
            self._line += block.count(b"\n")
            block = after

    def _decode(self, block: bytes, line: int) -> str:
        try:
            return block.decode("utf-8")
        except UnicodeDecodeError as error:
            before = block.count(b"\n", 0, error.start)
            what = "the text is not UTF-8: save the file as UTF-8"
            raise DataError(self.name, what, place=f"line {line + before}") from error

    def _parse(self, block: bytes, line: int, columns: Sequence[str]) -> TableBlock:
        self._decode(block, line)
        try:
            frame = pl.read_csv(
                block,
                has_header=False,
                schema=dict.fromkeys(self.columns, pl.String),
                separator=self.delimiter,
                raise_if_empty=False,
            )
        except pl.exceptions.PolarsError as error:
            self._refuse_uneven(block, line)
            what = str(error).splitlines()[0]
            raise DataError(self.name, what, place=f"line {line} or later") from error
        # A line that is too short ends in missing values, and so in one in the last column.
        if frame.height and frame.get_column(self.columns[-1]).null_count():
            self._refuse_uneven(block, line)
        # Where no record has more than one line, the block itself need not be kept to count them.
        simple = block.count(b"\n") + (not block.endswith(b"\n")) == frame.height
        place = partial(_line_place, line) if simple else partial(self._place, block, line)
        return TableBlock(frame.select(columns), place)

    def _reader(self, block: bytes) -> Iterator[tuple[int, list[str]]]:
        """The records of a block, each with the number of its first line, counted from 0."""
        text = io.StringIO(block.decode("utf-8"), newline="")
        reader = csv.reader(text, delimiter=self.delimiter, strict=True)
        began = 0
        for record in reader:
            yield began, record
            began = reader.line_num

    def _place(self, block: bytes, line: int, row: int) -> str:
        for number, (began, _) in enumerate(self._reader(block)):
            if number == row:
                return f"line {line + began}"
        raise IndexError(row)

    def _refuse_uneven(self, block: bytes, line: int) -> None:
        """Say which lines have not as many fields as there are columns, if some have not."""
        width, began = len(self.columns), 0
        wrong: list[tuple[str, str]] = []
        try:
            for began, record in self._reader(block):
                place = f"line {line + began}"
                if not record and width > 1:
                    wrong.append((place, "the line is blank: remove it"))
                if record and len(record) != width:
                    what = (
                        f"{len(record)} fields where there are {width} columns: complete the line, "
                        f"or put quotes around a field with {self.delimiter!r} in it"
                    )
                    wrong.append((place, what))
        except csv.Error as error:
            what = f"the quotes are wrong ({error}): close them, and write a quote as two"
            wrong.append((f"line {line + began} or later", what))
        if wrong:
            (place, what), others = wrong[0], [place for place, _ in wrong[1:]]
            more = f" (likewise {_some(others)})" if others else ""
            raise DataError(self.name, f"{what}{more}", place=place)


def _some(places: list[str], limit: int = 5) -> str:
    more = len(places) - limit
    return ", ".join(places[:limit]) + (f" and {more} more" if more > 0 else "")


def _line_place(line: int, row: int) -> str:
    """Where a row is, if each takes a line and the first is on ``line``."""
    return f"line {line + row}"


def _whole_records(source: Source) -> Iterator[bytes]:
    """The text in pieces that end with a record: at the end of a line, and not inside quotes."""
    rest = b""
    for piece in source.pieces():
        text = rest + piece
        cut = _end_of_last_record(text)
        if cut:
            yield text[:cut]
        rest = text[cut:]
    if rest:
        yield rest


def _end_of_last_record(text: bytes) -> int:
    """Where the last whole record of a text that begins with one ends; 0 if nowhere."""
    end = len(text)
    while cut := text.rfind(b"\n", 0, end) + 1:
        if text.count(b'"', 0, cut) % 2 == 0:
            return cut
        end = text.rfind(b'"', 0, cut)  # opened before this line end and not closed
    return 0


def _offset_of_line(text: bytes, line: int) -> int:
    """Where line number ``line``, counted from 0, begins."""
    offset = 0
    for _ in range(line):
        offset = text.find(b"\n", offset) + 1
        if not offset:
            return len(text)
    return offset


def _sniff_delimiter(sample: str) -> str:
    """The delimiter that splits the first lines into the most fields, all alike."""
    best, most = ",", 1
    for delimiter in _DELIMITERS:
        reader = csv.reader(io.StringIO(sample, newline=""), delimiter=delimiter)
        widths = [len(record) for record, _ in zip(reader, range(20), strict=False) if record]
        if widths and min(widths) > most and widths.count(widths[0]) == len(widths):
            best, most = delimiter, min(widths)
    if most > 1:
        return best
    # Not alike anywhere: by what the header has most of, so that the error names the uneven line.
    header = sample.partition("\n")[0]
    return max(_DELIMITERS, key=header.count)
