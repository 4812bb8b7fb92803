"""Keeping a model in one file: arrays and JSON in a zip archive, nothing that could be executed.

What the file holds is declared in `model_format`. A file may have been cut short, changed, or made
by somebody else: nothing but declared members of declared sizes is read, and all of it is checked
before anything is used.
"""

from __future__ import annotations

import io
import json
import math
import os
import re
import zipfile
from operator import attrgetter
from typing import IO, Any

import numpy as np

from admercs._version import __version__
from admercs.arrays import Array
from admercs.atomic import atomic_write
from admercs.density.likelihoods import Likelihoods
from admercs.method.border import BorderZones
from admercs.method.feedback import Contexts
from admercs.method.neighbours import ReferenceRows
from admercs.method.rank_distance import RankDistance
from admercs.method.scoring_nodes import ScoringNodes
from admercs.method.settings import Method
from admercs.pipeline import model_format
from admercs.pipeline.model import Model
from admercs.pipeline.model_format import FORMAT, FORMAT_VERSION, MEMBERS, Member, require
from admercs.table.schema import Schema
from admercs.trees.forest import Forest

HEADER = "model.json"
MAX_BYTES = 2 << 30
# Objects made of JSON take some twenty times as much memory as their text.
MAX_HEADER_BYTES = 128 << 20
# What numpy writes before an array of one or two dimensions is padded to this size.
_NPY_BYTES = 128
_NPY = re.compile(
    rb"\x93NUMPY\x01\x00\x76\x00\{'descr': '([<|]\w\d)', 'fortran_order': False, "
    rb"'shape': \((\d{1,18}),(?: (\d{1,18}))?\), \} *\n"
)
_PARTS: dict[str, Any] = {
    "forest": Forest,
    "scoring": ScoringNodes,
    "likelihoods": Likelihoods,
    "zones": BorderZones,
    "contexts": Contexts,
    "references": ReferenceRows,
}


class ModelFileError(ValueError):
    """A file that is not a model this version can read."""


def save_model(path: str | os.PathLike[str], model: Model, extra: dict[str, Any]) -> None:
    """Write a model and what the detector keeps beside it; numpy's numbers become plain ones.

    The file appears under its name only when it is complete.
    """
    known = model.references
    numbers = known and {name: getattr(known, name) for name in model_format.REFERENCE_FIELDS}
    header = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "admercs_version": __version__,
        "schema": model.schema.to_dict(),
        "method": model.method.to_dict(),
        "n_rows": model.n_rows,
        "references": numbers,
        "extra": extra,
    }
    buffer = io.BytesIO()
    try:
        with zipfile.ZipFile(buffer, "w") as archive:
            # Names may hold lone surrogates. As escapes, two would be read as one character.
            text = json.dumps(header, default=_plain, ensure_ascii=False)
            _write(archive, HEADER, text.encode("utf-8", "surrogatepass"))
            for member in _members(model.method, numbers):
                array = io.BytesIO()
                np.save(array, _array_of(model, member), allow_pickle=False)
                _write(archive, f"{member.name}.npy", array.getbuffer())
        _load(buffer)  # what could not be read again is not written
    except ValueError as error:
        raise ModelFileError(f"The model cannot be saved: {error}.") from error
    with atomic_write(path) as stream:
        stream.write(buffer.getbuffer())


def _plain(value: Any) -> Any:
    """Return a number or an array of numpy as Python's own."""
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    raise ValueError(f"{value!r:.50} is not a number or a text")


def _write(archive: zipfile.ZipFile, name: str, content: bytes | memoryview) -> None:
    # A fixed date: the file does not depend on the clock.
    archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED, compresslevel=1)


def _members(method: Method, references: Any) -> list[Member]:
    """Return the members that the file of a model has."""
    absent = set() if method.border is not None else {"zones"}
    absent |= set() if references is not None else {"ranks", "references"}
    return [member for member in MEMBERS if member.name.split("/")[0] not in absent]


def _array_of(model: Model, member: Member) -> Array:
    path = member.name.replace("ranks/", "references/ranks/").replace("/", ".")
    array: Array = attrgetter(path)(model)
    return np.ascontiguousarray(array.astype(member.dtype, casting="safe", copy=False))


def load_model(path: str | os.PathLike[str]) -> tuple[Model, dict[str, Any]]:
    """Read a model written by `save_model`, and what was saved beside it.

    Whatever is wrong with the file, apart from opening it, is a `ModelFileError`.
    """
    with open(path, "rb") as stream:
        try:
            return _load(stream)
        except ModelFileError as error:
            raise ModelFileError(f"{path} {error}") from error
        except zipfile.BadZipFile as error:
            raise ModelFileError(
                f"{path} is not an admercs model, or it was cut short or damaged ({error}). "
                "Save the model again."
            ) from error
        # Parsers of zip, zlib and JSON raise all kinds of errors on arbitrary bytes.
        except Exception as error:
            what = error if isinstance(error, ValueError) else repr(error)
            raise ModelFileError(f"{path} is damaged ({what}). Save the model again.") from error


def _load(stream: IO[bytes]) -> tuple[Model, dict[str, Any]]:
    with zipfile.ZipFile(stream) as archive:
        entries = {entry.filename: entry for entry in archive.infolist()}
        if HEADER not in entries:
            raise ModelFileError("is a zip archive, but not an admercs model.")
        require(len(entries) == len(archive.infolist()), "a member is there twice")
        for name, entry in entries.items():
            known = entry.compress_type in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
            require(known and not entry.flag_bits & 1, f"{name} is stored in an unknown way")
        n_bytes = sum(entry.file_size for entry in entries.values())
        require(n_bytes <= MAX_BYTES, f"it has {n_bytes:,} bytes, more than any model")
        require(entries[HEADER].file_size <= MAX_HEADER_BYTES, f"{HEADER} is too large")
        with archive.open(HEADER) as part:
            header = _read_header(part.read(entries[HEADER].file_size))
        schema, method = Schema.from_dict(header["schema"]), Method.from_dict(header["method"])
        model_format.check_header(header, schema, method)
        members = _members(method, header["references"])
        names = {HEADER, *(f"{member.name}.npy" for member in members)}
        for name in sorted(names ^ entries.keys()):
            raise ValueError(f"{name} {'is missing' if name in names else 'is not known'}")
        sizes = {"columns": len(schema.used), "rows": header["n_rows"]}
        arrays = {
            member: _read_array(archive, entries[f"{member.name}.npy"], member, sizes)
            for member in members
        }
    for member, array in arrays.items():
        model_format.check_values(member, array, sizes)
    model = _build(header, schema, method, arrays)
    model_format.check_structure(model)
    return model, header["extra"]


def _read_header(text: bytes) -> dict[str, Any]:
    """Return the JSON part after checking that it is of this format, and its types."""
    header = json.loads(text)
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise ModelFileError("is not an admercs model.")
    version = header.get("format_version")
    if version != FORMAT_VERSION:
        raise ModelFileError(
            f"was written by admercs {header.get('admercs_version')!r:.50} in format "
            f"{version!r:.50}; this is admercs {__version__}, which reads format "
            f"{FORMAT_VERSION}. Use that version, or fit the model again and save it."
        )
    model_format.check_type(header, model_format.FIELDS, "header")
    return header


def _read_array(
    archive: zipfile.ZipFile, entry: zipfile.ZipInfo, member: Member, sizes: dict[str, int]
) -> Array:
    """Read a member after comparing the sizes it declares with those it may have."""
    name, dtype = member.name, np.dtype(member.dtype)
    with archive.open(entry) as stream:
        match = _NPY.fullmatch(stream.read(_NPY_BYTES))
        if match is None or match[1].decode() != member.dtype:
            raise ValueError(f"{name} is not an array of type {member.dtype}")
        shape = tuple(int(length) for length in match.groups()[1:] if length is not None)
        model_format.bind_sizes(member, shape, sizes)
        n_bytes = math.prod(shape) * dtype.itemsize
        require(n_bytes + _NPY_BYTES == entry.file_size, f"{name} has another size than it says")
        # Without a number of bytes, `read` would unpack more than the entry declares.
        content = bytearray(stream.read(n_bytes))
    require(len(content) == n_bytes, f"{name} is cut short")
    return np.frombuffer(content, dtype).reshape(shape)


def _build(
    header: dict[str, Any], schema: Schema, method: Method, arrays: dict[Member, Array]
) -> Model:
    fields: dict[str, dict[str, Any]] = {}
    for member, array in arrays.items():
        part, _, name = member.name.rpartition("/")
        fields.setdefault(part, {})[name] = array
    if header["references"] is not None:
        fields["references"] |= header["references"] | {"ranks": RankDistance(**fields["ranks"])}
    parts: dict[str, Any] = {
        name: kind(**fields[name]) if name in fields else None for name, kind in _PARTS.items()
    }
    return Model(
        schema=schema, method=method, n_rows=header["n_rows"],
        **parts, **fields[""],
    )  # fmt: skip
