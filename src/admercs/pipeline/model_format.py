"""What a model file may hold: one table of all arrays, the types of the header, and how parts fit.

Compiled code reads these arrays without looking whether it leaves them. So everything that it uses
as an index is declared here, and nothing is used before all of it has been checked.
"""

from __future__ import annotations

import dataclasses
import re
import sys
import types
import typing
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import pairwise
from typing import Any, Literal, NamedTuple

import numpy as np

from admercs.arrays import Array, Bools, Ints
from admercs.density.likelihoods import CONTINUOUS, N_HEIGHTS, N_RANKS, column_kind, n_values
from admercs.facets.facet_kinds import facet_fits, may_have
from admercs.method.settings import Method
from admercs.method.threshold import stated_threshold
from admercs.pipeline.model import QUANTILE_LEVELS, Model
from admercs.table.columns import Column
from admercs.table.schema import DISPLAY, MAX_CATEGORIES, Schema
from admercs.table.values import TEMPORAL, UNITS, Kind, zone_of

FORMAT = "admercs model"
FORMAT_VERSION = 1

# Whatever a model says, evidence stays finite: logarithms of floats are less than 750.
MAX_LOG, MAX_SETTING, MAX_EVIDENCE = 10_000, 10**9, 10**9

Check = tuple[str, Any]  # a member, and whether it is as it should be


class Member(NamedTuple):
    """An array of the file.

    Sizes are written as ``nodes``, ``columns+1`` or ``6*columns``: what stands for a name is the
    same in all members. Bounds are inclusive.
    """

    name: str
    dtype: str
    shape: str  # sizes, separated by commas
    low: float | str | None = None
    high: float | str | None = None
    order: Literal["", "pointers", "ascending"] = ""  # pointers: from 0 on to `high`
    special: str = ""  # which of nan, inf and -inf may occur


MEMBERS = (
    Member("forest/root", "<i8", "columns+1", 0, "nodes", "pointers"),
    Member("forest/feature", "<i4", "nodes", -1, "columns-1"),
    Member("forest/threshold", "<f8", "nodes", special="nan -inf"),
    Member("forest/bin", "<i4", "nodes", 0, 2**16 - 1),
    Member("forest/subset", "<i4", "nodes", -1, "subsets-1"),
    Member("forest/missing_left", "|b1", "nodes"),
    Member("forest/left", "<i4", "nodes", -1, "nodes-1"),
    Member("forest/right", "<i4", "nodes", -1, "nodes-1"),
    Member("forest/parent", "<i4", "nodes", -1, "nodes-1"),
    Member("forest/n", "<i8", "nodes", 0, "rows"),
    Member("forest/impurity", "<f8", "nodes"),
    Member("forest/paid", "|b1", "nodes"),
    Member("forest/subsets", "<u8", "subsets,4"),
    Member("scoring/own", "<i4", "nodes", 0, "nodes-1"),
    Member("scoring/ancestor", "<i4", "nodes", -1, "nodes-1"),
    Member("likelihoods/kind", "|i1", "columns", 0, 2),
    Member("likelihoods/slot", "<i4", "nodes", -1, "slots-1"),
    Member("likelihoods/n", "<i8", "slots", 0, "rows"),
    Member("likelihoods/n_missing", "<i8", "slots", 0, "rows"),
    Member("likelihoods/log_present", "<f8", "slots", -MAX_LOG, 0),
    Member("likelihoods/log_missing", "<f8", "slots", -MAX_LOG, 0),
    Member("likelihoods/log_floor", "<f8", "slots", -MAX_LOG, MAX_LOG),
    Member("likelihoods/log_typical", "<f8", "slots", -MAX_LOG, MAX_LOG),
    Member("likelihoods/log_tau", "<f8", "slots", -MAX_LOG, MAX_LOG),
    Member("likelihoods/log_height", "<f8", "heights", -MAX_LOG, MAX_LOG),
    Member("likelihoods/bandwidth", "<f8", "slots", 0),
    Member("likelihoods/segment_ptr", "<i8", "slots+1", 0, "segments", "pointers"),
    Member("likelihoods/main", "<i8", "slots", 0, "segments"),
    Member("likelihoods/segment_from", "<f8", "segments"),
    Member("likelihoods/segment_start", "<f8", "segments"),
    Member("likelihoods/step", "<f8", "segments", 0),
    Member("likelihoods/table_ptr", "<i8", "segments+1", 0, "points", "pointers"),
    Member("likelihoods/table", "<f4", "points", -MAX_LOG, MAX_LOG),
    Member("likelihoods/value_ptr", "<i8", "slots+1", 0, "values", "pointers"),
    Member("likelihoods/log_value", "<f8", "values", -MAX_LOG, MAX_LOG),
    Member("likelihoods/count", "<i8", "values", 0, "rows"),
    Member("likelihoods/distinct_ptr", "<i8", "columns+1", 0, "distinct", "pointers"),
    Member("likelihoods/distinct", "<f8", "distinct"),
    Member("likelihoods/outer", "<f8", f"{2 * (3 + N_RANKS)}*columns", special="nan inf -inf"),
    Member("zones/lower", "<f8", "nodes", special="nan inf -inf"),
    Member("zones/upper", "<f8", "nodes", special="nan inf -inf"),
    Member("contexts/leaf", "<i4", "contexts", 0, "nodes-1", "ascending"),
    Member("contexts/low", "<f8", "contexts", special="-inf"),
    Member("contexts/high", "<f8", "contexts", special="inf"),
    Member("contexts/n", "<i8", "contexts", 0, "rows"),
    Member("contexts/log_lambda", "<f8", "contexts", None, -1e-300, special="-inf"),
    Member("contexts/redundant", "<u8", "contexts"),
    Member("contexts/member_ptr", "<i8", "contexts+1", 0, "members", "pointers"),
    Member("contexts/member", "<i8", "members", 0, "rows-1"),
    Member("ranks/edges", "<f8", "edges"),
    Member("ranks/first", "<i8", "columns+1", 0, "edges", "pointers"),
    Member("ranks/place", "|u1", "places"),
    Member("ranks/is_nominal", "|b1", "columns"),
    Member("references/row", "<i8", "references", 0, "rows-1", "ascending"),
    Member("references/profile", "|u1", "columns,references"),
    Member("references/excess", "<f8", "references,columns", 0, MAX_EVIDENCE),
    Member("references/scales", "<i8", "2", 1, "references-1"),
    Member("references/usual", "<f8", "2", 0, MAX_EVIDENCE),
    Member("redundant", "<u8", "nodes"),
    Member("evidence_quantiles", "<f8", str(len(QUANTILE_LEVELS)), 0, special="inf"),
    Member("usual_evidence", "<f8", "columns", 0, MAX_EVIDENCE),
)


# The fields of the header and their types; several types in a tuple are alternatives.
REFERENCE_FIELDS = {"typical": float, "weight": float}
FIELDS: dict[str, Any] = {
    "format": str,
    "format_version": int,
    "admercs_version": str,
    "schema": dict,
    "method": dict,
    "n_rows": int,
    "references": (REFERENCE_FIELDS, None),
    "extra": {
        "parameters": {
            "method": dict | None,
            "max_depth": int | None,
            "min_samples_leaf": float | None,
            "max_bins": int | Literal["exact"] | None,
            "n_iter": int | None,
            "nominal": Literal["auto"] | list[str | int],
            "contamination": Literal["auto"] | float | dict[str, float],
            "novelty": bool,
            "missing": list[str] | None,
            "decimal": Literal[".", ","] | None,
            "dayfirst": bool | None,
            "n_jobs": int | None,
            "random_state": None,
            "verbose": int,
        },
        "offset": float,
        "suspicious_line": float,
        "value_line": float,
        "n_iter": int,
    },
}

_SIZE = re.compile(r"(?:(\d+)\*)?([a-z]+)([+-]\d+)?")
_MAX_DEPTH = 64  # the redundant conditions of a node are bits of one number
_type_hints = cache(typing.get_type_hints)


def require(holds: Any, what: str) -> None:
    """Raise ValueError, with what is wrong, unless a condition holds."""
    if not holds:
        raise ValueError(what)


def size_of(size: float | str, sizes: Mapping[str, int]) -> float:
    """Return a size such as ``6*columns``, or a bound, as a number."""
    match = _SIZE.fullmatch(str(size))
    if match is None:
        return float(size)
    times, name, plus = match.groups()
    return int(times or 1) * sizes[name] + int(plus or 0)


def bind_sizes(member: Member, shape: tuple[int, ...], sizes: dict[str, int]) -> None:
    """Check the shape of a member; a name of a size that is not among `sizes` yet is added."""
    declared = member.shape.split(",")
    require(len(shape) == len(declared), f"{member.name} has {len(shape)} dimensions")
    for size, length in zip(declared, shape, strict=True):
        match = _SIZE.fullmatch(size)
        if match is not None:
            sizes.setdefault(match[2], (length - int(match[3] or 0)) // int(match[1] or 1))
        require(length == size_of(size, sizes), f"{member.name} has another size than {size}")


def check_values(member: Member, array: Array, sizes: Mapping[str, int]) -> None:
    """Check that the values of an array are in their range and order."""
    name, values = member.name, array
    if array.dtype.kind == "b":
        values = array.view(np.uint8)
        require(not (values > 1).any(), f"{name} holds more than true and false")
    if array.dtype.kind == "f":
        values = array[~np.isnan(array)] if "nan" in member.special else array
        allowed = [float(each) for each in member.special.split()]
        require((np.isfinite(values) | np.isin(values, allowed)).all(), f"{name} is not finite")
    if member.low is not None and values.size:
        require(values.min() >= size_of(member.low, sizes), f"{name} is too small")
    if member.high is not None and values.size:
        require(values.max() <= size_of(member.high, sizes), f"{name} is too large")
    if member.order == "ascending":
        require((array[1:] > array[:-1]).all(), f"{name} does not ascend")
    if member.order == "pointers":
        ends = [0, size_of(member.high or 0, sizes)]
        fits = (array[1:] >= array[:-1]).all() and array[[0, -1]].tolist() == ends
        require(fits, f"{name} does not ascend from 0 to {ends[1]}")


def check_type(value: Any, hint: Any, name: str) -> None:
    """Check a value of the header, or a dataclass made from it, against its declared type."""
    require(_is(value, hint, name), f"{name} is {value!r:.50}")


def _is(value: Any, hint: Any, name: str) -> bool:
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if hint is Any:  # checked where it is known what it should be
        return True
    if isinstance(hint, tuple) or origin in (typing.Union, types.UnionType):
        return any(_is(value, each, name) for each in args or hint)
    if origin is Literal:
        return isinstance(value, str) and value in args
    if origin in (list, tuple):
        return isinstance(value, origin) and all(_is(each, args[0], name) for each in value)
    if origin is dict:
        return isinstance(value, dict) and all(_is(each, args[1], name) for each in value.values())
    if isinstance(hint, dict) or dataclasses.is_dataclass(hint):
        return _has_fields(value, hint, name)
    if hint in (int, float) and type(value) in (int, hint):
        most = 2**64 - 1 if hint is int else 2**53 if type(value) is int else sys.float_info.max
        is_setting = name.startswith(("method", "header.references"))
        return abs(value) <= (MAX_SETTING if is_setting else most)
    return value is None if hint in (None, type(None)) else type(value) is hint


def _has_fields(value: Any, hint: Any, name: str) -> bool:
    """Check the fields of a dict or a dataclass: an error there says more than one of the whole."""
    if not isinstance(value, dict if isinstance(hint, dict) else hint):
        return False
    if not isinstance(hint, dict):
        hint = _type_hints(hint)
        value = {field: getattr(value, field) for field in hint}
    require(value.keys() == hint.keys(), f"{name} does not have the fields {', '.join(hint)}")
    for field, own in hint.items():
        check_type(value[field], own, f"{name}.{field}")
    return True


def check_header(header: dict[str, Any], schema: Schema, method: Method) -> None:
    """Check the types of what was made of the header, and what types do not say."""
    check_type(schema, Schema, "schema")
    own = header["extra"]["parameters"]["method"]
    for each in (method, *([Method.from_dict(own)] if own is not None else [])):
        check_type(each, Method, "method")
        each.check()
    require(header["n_rows"] > 0, "n_rows is not positive")
    require(header["extra"]["offset"] <= 0, "extra.offset is positive")
    for line in ("suspicious_line", "value_line"):
        require(header["extra"][line] >= 0, f"extra.{line} is negative")
    contamination = header["extra"]["parameters"]["contamination"]
    if isinstance(contamination, dict):
        stated_threshold(contamination)
    require(schema.used, "schema: no column is used")
    known = schema.columns + schema.facets
    for place, (column, kind) in enumerate(zip(known, schema.kinds, strict=True)):
        fits = column.position == place and column.n_missing <= header["n_rows"]
        fits = fits and (column.facet is None) == (place < len(schema.columns))
        fits = fits and all(_column_fits(column, kind))
        # Beside whole numbers in texts there may be numbers that no integer type holds.
        read_as = (kind, "integer") if kind == "float" else (kind,)
        fits = fits and (column.reading is None or column.reading.kind in read_as)
        if column.facet is not None:
            kinds = schema.kinds[: len(schema.columns)]
            fits = fits and column.reading is None
            fits = fits and facet_fits(column.facet, kind, kinds, schema.order)
            fits = fits and may_have(column.facet, column.categories)
        require(fits, f"schema: the description of column {column.name!r} does not fit")


def _column_fits(column: Column, kind: Kind) -> Iterator[bool]:
    """Say whether the description of a column agrees with the kind of its values."""
    role, distinct, categories = column.role, column.distinct, column.categories
    yield column.display == DISPLAY.get(kind, kind)
    yield 0 <= column.n_unread <= column.n_missing and column.n_grouped >= 0
    yield column.limits[0] <= column.limits[1]
    yield column.origin == 0 or (role == "numeric" and kind in ("integer", *TEMPORAL))
    yield role == "set aside" or kind != "empty"
    yield role == "nominal" or not categories
    yield role == "numeric" or not distinct
    yield role != "numeric" or kind not in ("text", "mixed")
    units = {"date": ("D",), "time": ("us",)}.get(kind, UNITS if kind in TEMPORAL else ("",))
    yield column.unit in (units if role == "numeric" else ("",))
    yield not column.time_zone or zone_of(column.time_zone) is not None
    yield len(set(categories)) == len(categories) <= MAX_CATEGORIES
    is_text = kind in ("text", "mixed", *TEMPORAL)
    yield all(isinstance(value, str) == is_text for value in categories)
    yield all(a < b for a, b in pairwise(distinct))


def check_structure(model: Model) -> None:
    """Check that the parts of a model fit together."""
    for parts in (_trees_fit, _scoring_fits, _densities_fit, _contexts_and_references_fit):
        for name, holds in parts(model):
            require(holds, f"{name} does not fit the rest of the model")


def _trees_fit(model: Model) -> Iterator[Check]:
    forest, inner = model.forest, ~model.forest.is_leaf
    yield "forest/root", (np.diff(forest.root) > 0).all()
    left, right, parent, depth = _preorder(inner, forest.root)
    yield "forest/left", np.array_equal(forest.left, left)
    yield "forest/right", np.array_equal(forest.right, right)
    yield "forest/parent", np.array_equal(forest.parent, parent)
    by_subset = inner & _is_nominal(model)[np.maximum(forest.feature, 0)]
    numbers = np.where(by_subset, np.cumsum(by_subset) - 1, -1)
    yield "forest/subset", np.array_equal(forest.subset, numbers)
    yield "forest/subsets", len(forest.subsets) == by_subset.sum()
    numeric = inner & ~by_subset
    yield "forest/threshold", np.array_equal(np.isnan(forest.threshold), ~numeric)
    yield "forest/paid", not (forest.paid & ~inner).any()
    for zone in model.zones or ():
        yield "zones", np.array_equal(np.isnan(zone), ~(numeric & forest.paid))
    # A path has one condition less than nodes, and the last one is never redundant.
    yield "forest/feature", depth.max() <= _MAX_DEPTH
    last = np.maximum(depth - 1, 0).astype(np.uint64)
    yield "redundant", not (model.redundant >> last).any()


def _preorder(inner: Bools, root: Ints) -> tuple[Ints, Ints, Ints, Ints]:
    """Return left, right, parent and depth of nodes in preorder, given which have children."""
    left, right, parent = np.full((3, len(inner)), -1)
    depth = np.zeros(len(inner), np.int64)
    starts = set(root[:-1].tolist())
    waiting: list[int] = []  # nodes without a right child so far, the lowest last
    for node, has_children in enumerate(inner.tolist()):
        require((node in starts) == (not waiting), "forest/feature does not fit forest/root")
        if waiting:
            above = node - 1
            if inner[above]:
                left[above] = node
            else:
                above = waiting.pop()
                right[above] = node
            parent[node], depth[node] = above, depth[above] + 1
        if has_children:
            waiting.append(node)
    require(not waiting, "forest/feature: a split has no children")
    return left, right, parent, depth


def _scoring_fits(model: Model) -> Iterator[Check]:
    # Rows are scored by nodes of their own tree that have a distribution.
    (own, ancestor), slot, tree = model.scoring, model.likelihoods.slot, model.forest.roots
    leaves, above = model.forest.is_leaf, model.scoring.ancestor >= 0
    yield "scoring/own", np.array_equal(tree[own], tree)
    yield "scoring/ancestor", np.array_equal(tree[ancestor[above]], tree[above])
    for nodes in (model.forest.root[:-1], own[leaves], ancestor[leaves & above]):
        yield "likelihoods/slot", (slot[nodes] >= 0).all()


def _densities_fit(model: Model) -> Iterator[Check]:
    # The tables of each slot are those of its column.
    like, columns, forest = model.likelihoods, model.schema.used, model.forest
    kind = np.array([column_kind(column) for column in columns])
    yield "likelihoods/kind", np.array_equal(like.kind, kind)
    nodes, n_slots = np.flatnonzero(like.slot >= 0), len(like.n)
    yield "likelihoods/slot", np.array_equal(like.slot[nodes], np.arange(n_slots))
    yield "likelihoods/n_missing", (like.n_missing <= like.n).all()
    n_heights = N_HEIGHTS * n_slots if model.method.density.area else 0
    yield "likelihoods/log_height", len(like.log_height) == n_heights
    target = np.repeat(np.arange(forest.n_trees), np.diff(forest.root))[nodes]
    sizes = np.array([n_values(column) for column in columns]) * (kind != CONTINUOUS)
    yield "likelihoods/value_ptr", np.array_equal(np.diff(like.value_ptr), sizes[target])
    sizes = np.array([len(column.distinct) for column in columns])
    yield "likelihoods/distinct_ptr", np.array_equal(np.diff(like.distinct_ptr), sizes)
    values = [value for column in columns for value in column.distinct]
    yield "likelihoods/distinct", np.array_equal(like.distinct, values)
    n_segments = np.diff(like.segment_ptr)
    yield "likelihoods/segment_ptr", not n_segments[kind[target] != CONTINUOUS].any()
    yield "likelihoods/main", (like.main < np.maximum(n_segments, 1)).all()
    # Cubic interpolation takes one point before a value and two after it.
    n_points = np.diff(like.table_ptr)
    yield "likelihoods/table_ptr", (n_points >= 4).all()
    yield "likelihoods/step", (like.step > 0).all()
    ends = like.segment_start + like.step * (n_points - 1)
    yield "likelihoods/step", np.isfinite(ends).all() and (ends >= like.segment_from).all()
    follows = _inside(like.segment_ptr)
    next_from = like.segment_from[1:][follows]
    yield "likelihoods/segment_from", (like.segment_from[:-1][follows] < next_from).all()
    yield "likelihoods/segment_start", (like.segment_start[:-1][follows] < next_from).all()


def _contexts_and_references_fit(model: Model) -> Iterator[Check]:
    contexts, references = model.contexts, model.references
    ends = np.array([model.forest.below(node).stop for node in contexts.leaf], np.int64)
    yield "contexts/leaf", (ends[:-1] <= contexts.leaf[1:]).all()
    slot = model.likelihoods.slot[model.scoring.own[contexts.leaf]]
    yield "contexts/leaf", (slot >= 0).all()
    yield "contexts/low", (contexts.low < contexts.high).all()
    target = np.searchsorted(model.forest.root, contexts.leaf, side="right") - 1
    # A range of categories is one of them.
    is_range = np.isfinite(contexts.low) | np.isfinite(contexts.high)
    is_code = is_range & _is_nominal(model)[target]
    n_codes = np.array([n_values(column) for column in model.schema.used])[target]
    codes = contexts.high[is_code]
    fits = (codes >= 1) & (codes <= n_codes[is_code]) & (codes == np.rint(codes))
    yield "contexts/high", (fits & (contexts.low[is_code] == codes - 1)).all()
    quantiles = model.evidence_quantiles
    yield "evidence_quantiles", (quantiles[1:] >= quantiles[:-1]).all()
    if references is not None:
        ranks = references.ranks
        is_facet = model.is_facet
        yield "ranks/is_nominal", np.array_equal(ranks.is_nominal, _is_nominal(model) & ~is_facet)
        yield "ranks/edges", (ranks.edges[1:] > ranks.edges[:-1])[_inside(ranks.first)].all()
        fits = len(ranks.place) == len(ranks.edges) + 2 * len(ranks.is_nominal)
        yield "ranks/place", fits and np.array_equal(ranks.is_compared, ~is_facet)
        yield "references/profile", not references.profile[is_facet].any()
        yield "references", len(references.row) > 1


def _is_nominal(model: Model) -> Bools:
    return np.array([column.role == "nominal" for column in model.schema.used])


def _inside(pointers: Ints) -> Bools:
    """Say of all elements but the last whether the next one belongs to the same piece."""
    inside = np.ones(max(0, int(pointers[-1]) - 1), np.bool_)
    inside[pointers[(pointers > 0) & (pointers < pointers[-1])] - 1] = False
    return inside
