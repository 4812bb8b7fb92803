"""Wrong values put into a table of numbers, at places that are known."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

__all__ = ["ERRORS", "WrongValues", "exchange_values", "insert_errors"]

#: Share of the rows that get an error, and the fewest such rows.
_SHARE, _FEWEST = 0.02, 10
#: How often a place is drawn for the error of one row, and by how many standard deviations of its
#: column a value must change.
_TRIES, _LEAST_CHANGE = 50, 0.5

Draw = Callable[[np.random.Generator, np.ndarray, int], dict[int, float]]


@dataclass(frozen=True)
class WrongValues:
    """A table with errors.

    Attributes
    ----------
    X : ndarray of shape (n_rows, n_columns)
        The values.
    wrong : ndarray of bool, shape (n_rows, n_columns)
        True where a value is wrong.
    """

    X: np.ndarray
    wrong: np.ndarray

    @property
    def y(self) -> np.ndarray:
        """True for rows with a wrong value."""
        return np.asarray(self.wrong.any(axis=1))


def _exchange(rng: np.random.Generator, X: np.ndarray, row: int) -> dict[int, float]:
    """Take the value of the same column in another row; return new values by column."""
    del row
    column = int(rng.integers(X.shape[1]))
    return {column: X[rng.integers(len(X)), column]}


def _multiply(factor: float) -> Draw:
    def draw(rng: np.random.Generator, X: np.ndarray, row: int) -> dict[int, float]:
        column = int(rng.integers(X.shape[1]))
        return {column: factor * X[row, column]}

    return draw


def _swap(rng: np.random.Generator, X: np.ndarray, row: int) -> dict[int, float]:
    """Swap the values of two neighbouring columns."""
    column = int(rng.integers(X.shape[1] - 1))
    return {column: X[row, column + 1], column + 1: X[row, column]}


#: The kinds of error by name.
ERRORS: dict[str, Draw] = {
    "exchange": _exchange,
    "factor 10": _multiply(10.0),
    "factor 1000": _multiply(1000.0),
    "sign": _multiply(-1.0),
    "swap": _swap,
    "zero": _multiply(0.0),
}


def insert_errors(X: np.ndarray, error: str = "exchange", random_state: int = 0) -> WrongValues:
    """Put one error into each of 2% of the rows, at least ten of them.

    The place is drawn anew, up to 50 times, until each value concerned changes by more than half a
    standard deviation of its column; a row in which that never happens stays as it is.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_columns)
        Numbers; not changed.
    error : {"exchange", "factor 10", "factor 1000", "sign", "swap", "zero"}, default="exchange"
        What happens to a value: it is replaced by the value of another row, multiplied, changes
        places with the value of the next column, or becomes 0.
    random_state : int, default=0
        Decides the rows and the places.

    Returns
    -------
    data : WrongValues

    Examples
    --------
    >>> import numpy as np
    >>> from admercs.datasets import insert_errors
    >>> data = insert_errors(np.arange(3000.0).reshape(1000, 3), "sign")
    >>> int(data.y.sum()), int(data.wrong.sum()), bool((data.X[data.wrong] < 0).all())
    (20, 20, True)
    """
    if error not in ERRORS:
        raise ValueError(f"unknown error {error!r}; there are {', '.join(ERRORS)}")
    rng = np.random.default_rng(random_state)
    changed, wrong = X.astype(float), np.zeros(X.shape, bool)
    least = _LEAST_CHANGE * X.std(axis=0)
    for row in rng.permutation(len(X))[: max(_FEWEST, round(_SHARE * len(X)))]:
        for _ in range(_TRIES):
            new = ERRORS[error](rng, X, row)
            if all(abs(value - X[row, column]) > least[column] for column, value in new.items()):
                for column, value in new.items():
                    changed[row, column], wrong[row, column] = value, True
                break
    return WrongValues(changed, wrong)


def exchange_values(X: np.ndarray, random_state: int = 0) -> WrongValues:
    """Replace one value in each of 2% of the rows by the value of another row, see `insert_errors`.

    Examples
    --------
    >>> import numpy as np
    >>> from admercs.datasets import exchange_values
    >>> data = exchange_values(np.random.default_rng(0).random((100, 4)))
    >>> data.wrong.sum(axis=1)[data.y]
    array([1, 1, 1, 1, 1, 1, 1, 1, 1, 1])
    """
    return insert_errors(X, "exchange", random_state)
