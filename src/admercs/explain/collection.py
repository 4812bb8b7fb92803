"""The explanations of several rows."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, overload

from admercs.explain.records import Reason, RowExplanation
from admercs.explain.rendering import row_html

SCHEMA_VERSION = 1
_FRAMES = ("pandas", "polars")
FrameKind = Literal["pandas", "polars"]


@dataclass(frozen=True)
class Explanations(Sequence[RowExplanation]):
    """A sequence of row explanations, in the order of the rows.

    ``frame`` is the library of the table that was explained, if it was pandas or polars.

    Examples
    --------
    >>> explanations = Explanations((RowExplanation("a", 0.0, 0.0, 0.0, ()),))
    >>> len(explanations), explanations[0].label
    (1, 'a')
    >>> print(explanations)
    a   score 0.00   nothing unusual
    """

    rows: tuple[RowExplanation, ...] = ()
    frame: FrameKind | None = None

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[RowExplanation]:
        return iter(self.rows)

    @overload
    def __getitem__(self, index: int) -> RowExplanation: ...

    @overload
    def __getitem__(self, index: slice) -> Explanations: ...

    def __getitem__(self, index: int | slice) -> RowExplanation | Explanations:
        if isinstance(index, slice):
            return Explanations(self.rows[index], self.frame)
        try:
            return self.rows[index]
        except IndexError:
            raise IndexError(
                f"there is no explanation {index}: {len(self.rows)} rows were explained"
            ) from None

    def __str__(self) -> str:
        return "\n\n".join(str(row) for row in self.rows)

    def _repr_html_(self) -> str:
        return "".join(map(row_html, self.rows)) or "<p>no rows</p>"

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-ready dict; the page on explanations describes its fields."""
        return {"version": SCHEMA_VERSION, "rows": [row.to_dict() for row in self.rows]}

    def to_frame(self, library: FrameKind | None = None) -> Any:
        """Return one line per reason as a data frame.

        Parameters
        ----------
        library : {"pandas", "polars"}, optional
            Whose frame. By default that of the table that was explained; if that was neither,
            pandas if it is installed, else polars.

        Returns
        -------
        frame : DataFrame
            Columns ``label``, ``score``, ``percentile``, ``by_association``, ``rank`` (1 is the
            strongest reason), ``kind``, ``target``, ``value``, ``conditions``, ``typical``, ``n``,
            ``likelihood``, ``evidence``, ``share``, ``context`` and ``text``. Values are in words,
            since one column holds those of many. A row without reasons has no line.
        """
        lines = [
            _line(row, rank, reason)
            for row in self.rows
            for rank, reason in enumerate(row.reasons, 1)
        ]
        columns = {name: [line[name] for line in lines] for name in _COLUMNS}
        return _library(library or self.frame).DataFrame(columns)


_COLUMNS = (
    *("label", "score", "percentile", "by_association", "rank", "kind", "target"),
    *("value", "conditions", "typical", "n", "likelihood", "evidence", "share", "context", "text"),
)


def _line(row: RowExplanation, rank: int, reason: Reason) -> dict[str, Any]:
    return vars(row) | vars(reason) | {
        "rank": rank,
        "value": reason.value_text,
        "conditions": " and ".join(map(str, reason.conditions)),
        "typical": None if reason.typical is None else reason.typical.text,
    }  # fmt: skip


def _library(name: str | None) -> Any:
    """Import pandas or polars."""
    if name is not None and name not in _FRAMES:
        raise ValueError(f"library must be 'pandas' or 'polars'; it is {name!r}")
    for candidate in _FRAMES if name is None else (name,):
        if importlib.util.find_spec(candidate) is not None:
            return importlib.import_module(candidate)
    raise ImportError(
        f"to_frame needs {name or 'pandas or polars'}: pip install {name or 'pandas'}"
    )
