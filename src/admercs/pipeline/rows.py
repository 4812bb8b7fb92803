"""The rows of a table as fitting sees them: in one piece or in many.

Fitting is written once over this interface. A *pass* calls a function for every piece of the
table; its results stay with the pieces (`Kept`) or are merged and brought to the caller. A table in
memory is one piece. Functions are pure: they may run anywhere and again.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from admercs.arrays import Floats
from admercs.facets import FacetFrame, prepare
from admercs.progress import Progress
from admercs.table.frame import Frame
from admercs.table.prepared import Prepared
from admercs.table.quantiles import sorted_quantiles
from admercs.table.reading_frame import TableReading
from admercs.table.readings import ReadingRules
from admercs.table.schema import Schema
from admercs.table.summary import ColumnSummary, TableSummary, summarise

FEW_ROWS = 10_000  # columns are worked on together while they have no more rows than this …
MOST = 16  # … and no more columns, so that all threads have something to do

Kept = list[Any]  # one result per piece, which stays where the piece is
Function = Callable[..., Any]
Digest = Callable[[Any], Any]  # of merged results
Work = Callable[[list[int]], list[Any]]
Numbers = Sequence[int] | None  # of columns; None: all


class Rows(ABC):
    """The rows of a table in pieces; `n_jobs` are the threads of the caller."""

    n_jobs: int

    @abstractmethod
    def summary(self, nominal: Any, rules: ReadingRules | None = None) -> TableSummary:
        """Summarise the columns; the first pass over the table."""

    @abstractmethod
    def read_as(self, how: TableReading) -> tuple[ColumnSummary, ...]:
        """Read texts in this way from now on; summarise the columns that this concerns."""

    @abstractmethod
    def look_at(
        self, phase: str, function: Function, places: Sequence[int], *, shared: Any = ()
    ) -> Kept:
        """Call ``function(frame, *shared)`` for every piece, before the table is opened.

        The frame has the columns at some places of the table only, in that order.
        """

    @abstractmethod
    def open(self, schema: Schema) -> None:
        """Use a schema from now on: pieces of the table are `Prepared`."""

    def arrange(self, schema: Schema) -> None:
        """Use the same schema with the columns in another order from now on."""
        self.open(schema)

    @abstractmethod
    def keep(
        self, phase: str, function: Function, *kept: Kept, shared: Any = (), uses_up: bool = False
    ) -> Kept:
        """Call ``function(*kept_of_piece, *shared)`` for every piece.

        `uses_up` says that the function changes what is kept, which is not used afterwards.
        """

    @abstractmethod
    def read(
        self, phase: str, function: Function, *kept: Kept, shared: Any = (), columns: Numbers = None
    ) -> Kept:
        """Call ``function(table, *kept_of_piece, *shared)`` for every piece of the table.

        `columns` are the used columns that the function looks at; all if they are not given. If
        there are none, the table may be None.
        """

    @abstractmethod
    def pick(self, kept: Kept, k: int) -> Kept:
        """Return the k-th member of each result."""

    @abstractmethod
    def merge(
        self, function: Callable[[list[Any]], Any], kept: Kept, digest: Digest | None = None
    ) -> Any:
        """Merge the results of all pieces by an associative function of a list.

        Where what is merged is large, ``digest`` says where it lies what the caller needs of it.
        """

    @abstractmethod
    def gather(self, kept: Kept) -> list[Any]:
        """Bring the results of all pieces to the caller, in the order of the pieces."""

    @abstractmethod
    def first_rows(self) -> list[int]:
        """Return the number of the first row of each piece."""

    @abstractmethod
    def spread(self, array: Floats) -> Kept:
        """Give each piece its part of an array with an entry per row."""

    @abstractmethod
    def share(self, value: Any) -> Any:
        """Prepare a large value to be passed to many pieces as `shared`."""

    @abstractmethod
    def quantiles(self, kept: Kept, levels: Floats) -> Floats:
        """Return exact quantiles of the numbers of all pieces, as ``numpy.quantile`` does."""

    @abstractmethod
    def for_each(
        self, phase: str, work: Work, n_items: int, most: int | None = None, few: int = 0
    ) -> list[Any]:
        """Call `work` for batches of the items 0 … n − 1; join the lists it returns.

        `most` is the largest batch that fits into memory together; None: all. In memory, items of
        up to `few` rows altogether are worked on together where threads have enough to do.
        """


class Piece(Prepared):
    """A piece of a table, of which only some columns may have been read; they keep their numbers.

    In each thread it remembers the last column it was asked for: the steps on a column follow each
    other, and a column may lie scattered in its table.
    """

    def __init__(self, table: Prepared, columns: Numbers = None) -> None:
        self.n_rows, self.n_columns = table.n_rows, table.n_columns
        self.block, self.some = table.block, table.some  # type: ignore[method-assign]
        self._table, self._last = table, threading.local()
        numbers = range(table.n_columns) if columns is None else columns
        self._place = {m: k for k, m in enumerate(numbers)}

    def column(self, m: int) -> Floats:
        """Return the working values of used column ``m``."""
        if getattr(self._last, "number", None) != m:
            self._last.values, self._last.number = self._table.column(self._place[m]), m
        values: Floats = self._last.values
        return values


class RowsInMemory(Rows):
    """All rows of a table as one piece; the work on columns is done in threads."""

    def __init__(self, frame: Frame, n_jobs: int = 1, progress: Progress | None = None) -> None:
        self.frame, self.n_jobs, self._progress = frame, max(1, n_jobs), progress
        self._table: Prepared | None = None
        self._how = TableReading()

    @property
    def table(self) -> Prepared:
        """The table, once it is opened."""
        if self._table is None:
            raise RuntimeError("the table has not been opened with a schema yet")
        return self._table

    def summary(self, nominal: Any, rules: ReadingRules | None = None) -> TableSummary:
        """Summarise the columns."""
        self._how = TableReading(rules or ReadingRules())
        return summarise(self._how.frame(self.frame), nominal, rules=rules)

    def read_as(self, how: TableReading) -> tuple[ColumnSummary, ...]:
        """Read texts in this way from now on; summarise the columns that this concerns."""
        self._how = how
        return how.summarise(self.frame)

    def look_at(
        self, phase: str, function: Function, places: Sequence[int], *, shared: Any = ()
    ) -> Kept:
        """Call a function with some of the table's columns."""
        frame = FacetFrame(self._how.frame(self.frame), (), places)
        return self.keep(phase, function, [frame], shared=shared)

    def open(self, schema: Schema) -> None:
        """Use a schema from now on."""
        self._opened = prepare(self.frame, schema)
        self._table = Piece(self._opened)

    def arrange(self, schema: Schema) -> None:
        """Use the same schema with the columns in another order: nothing is read again."""
        self._table = Piece(self._opened.arrange(schema))

    def keep(
        self, phase: str, function: Function, *kept: Kept, shared: Any = (), uses_up: bool = False
    ) -> Kept:
        """Call a function with what is kept."""
        result = [function(*(each[0] for each in kept), *shared)]
        self._tell(phase, 1, 1)
        return result

    def read(
        self, phase: str, function: Function, *kept: Kept, shared: Any = (), columns: Numbers = None
    ) -> Kept:
        """Call a function with the table."""
        return self.keep(phase, function, [self.table], *kept, shared=shared)

    def pick(self, kept: Kept, k: int) -> Kept:
        """Return the k-th member of the result."""
        return [kept[0][k]]

    def merge(
        self, function: Callable[[list[Any]], Any], kept: Kept, digest: Digest | None = None
    ) -> Any:
        """Return the only result."""
        return kept[0] if digest is None else digest(kept[0])

    def gather(self, kept: Kept) -> list[Any]:
        """Return the only result."""
        return kept

    def first_rows(self) -> list[int]:
        """Return the number of the first row."""
        return [0]

    def spread(self, array: Floats) -> Kept:
        """Return the array as that of the only piece."""
        return [array]

    def share(self, value: Any) -> Any:
        """Return the value."""
        return value

    def quantiles(self, kept: Kept, levels: Floats) -> Floats:
        """Return quantiles of the numbers."""
        return sorted_quantiles(kept[0], levels)

    def for_each(
        self, phase: str, work: Work, n_items: int, most: int | None = None, few: int = 0
    ) -> list[Any]:
        """Work on one item after the other, in threads; on some together where rows are few."""
        results: list[Any] = []
        n_rows = max(1, self.frame.n_rows)
        together = max(FEW_ROWS // n_rows, min(few // n_rows, n_items // (2 * self.n_jobs)))
        step = max(1, min(most or MOST, MOST, together))
        batches = [list(range(k, min(n_items, k + step))) for k in range(0, n_items, step)]
        with ThreadPoolExecutor(self.n_jobs) as pool:
            try:
                for found in pool.map(work, batches):
                    results += found
                    self._tell(phase, len(results), n_items)
            except BaseException:
                pool.shutdown(wait=True, cancel_futures=True)
                raise
        return results

    def _tell(self, phase: str, done: int, total: int) -> None:
        if self._progress is not None and phase:
            self._progress(phase, done, total)
