"""An order of the columns that follows from their content, wherever they stand in the table.

Equal gains of splits, the draw of reference rows and the rounding of sums depend on the order in
which columns are taken. Taken in this order, a table with its columns exchanged gives the same
scores. Names settle what content cannot: columns that could be exchanged without a trace.
"""

from __future__ import annotations

import hashlib
import operator
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from admercs.arrays import Codes, Floats, Keys, scramble
from admercs.pipeline.rows import Kept, Rows
from admercs.table.bins import Binning
from admercs.table.columns import Column
from admercs.table.schema import Schema


def order_columns(
    rows: Rows, schema: Schema, binning: Binning, codes: Kept
) -> tuple[Schema, Binning, Kept]:
    """Return schema, bins and codes with the columns in the order of their content."""
    order = content_order(rows, schema, binning, codes)
    schema = replace(schema, order=tuple(schema.order[m] for m in order))
    rows.arrange(schema)
    edges, n_codes = tuple(binning.edges[m] for m in order), binning.n_codes[order]
    nominal = binning.is_nominal[order]
    binning = binning._replace(edges=edges, n_codes=n_codes, is_nominal=nominal)
    return schema, binning, rows.keep("", operator.getitem, codes, shared=(order,))


def content_order(rows: Rows, schema: Schema, binning: Binning, codes: Kept) -> list[int]:
    """Return the numbers of the used columns in the order of their content."""
    pairs = zip(schema.used, binning.edges, strict=True)
    of_column = {column.position: _digest(column, edges) for column, edges in pairs}
    keys = np.array([_key(column, of_column) for column in schema.used], np.uint64)
    while (n_distinct := len(np.unique(keys))) < len(keys):
        # Columns that are alike one by one may differ in the rows that their values share.
        sums = rows.merge(np.add.reduce, rows.keep("", keys_of_piece, codes, shared=(keys,)))
        finer = scramble(scramble(keys) ^ sums)
        if len(np.unique(finer)) <= n_distinct:
            break
        keys = finer
    named = {m: column.name if schema.named else "" for m, column in enumerate(schema.used)}
    return sorted(named, key=lambda m: (int(keys[m]), named[m], m))


def _digest(column: Column, edges: Floats) -> int:
    """Return a number for what is known of a column but for its name and place."""
    known = repr(replace(column, name="", position=0, facet=None))
    return _hash(known.encode("utf-8", "surrogatepass") + edges.tobytes())


def _key(column: Column, of_column: Mapping[int, int]) -> int:
    """Return the number of a column; that of a facet follows from those of its sources.

    What it has computed itself may differ in the last digits where other versions are installed.
    """
    facet = column.facet
    if facet is None:
        return of_column[column.position]
    forms = [each for each in facet.settings if isinstance(each, str)]
    sources = [of_column.get(source, 0) for source in facet.sources]
    return _hash(repr((facet.kind, forms, sources)).encode("utf-8", "surrogatepass"))


def _hash(content: bytes) -> int:
    return int.from_bytes(hashlib.blake2b(content, digest_size=8).digest())


def keys_of_piece(codes: Codes, keys: Keys) -> Keys:
    """Return for each column a sum over rows that depends on all values of the rows.

    The sums wrap around: they are the same in any order of rows and columns.
    """
    pairs = list(zip(codes, scramble(keys), strict=True))
    whole = np.zeros(codes.shape[1], np.uint64)
    for column, key in pairs:
        whole += _scrambled(column, key)
    sums = [scramble(whole ^ _scrambled(column, key)).sum() for column, key in pairs]
    return np.array(sums, np.uint64)


def _scrambled(column: Codes, key: np.uint64) -> Keys:
    """Return the codes of a column as numbers that look random, others for each key."""
    possible = np.arange(np.iinfo(column.dtype).max + 1, dtype=np.uint64)
    numbers: Keys = scramble(possible ^ key)[column]
    return numbers
