"""Keeping a model in one file: arrays and JSON in a zip archive, nothing that could be executed."""

from __future__ import annotations

import io
import json
import os
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from admercs._version import __version__
from admercs.density.likelihoods import Likelihoods
from admercs.detector.model import Model, Settings
from admercs.detector.sanity import check_model
from admercs.evidence.likeness import Likeness
from admercs.evidence.neighbours import Neighbours
from admercs.table.schema import Schema
from admercs.trees.forest import Forest

FORMAT = "admercs model"
FORMAT_VERSION = 4
HEADER = "model.json"


class ModelFileError(ValueError):
    """A file that is not a model this version can read."""


def save_model(path: str | os.PathLike[str], model: Model, extra: dict[str, Any]) -> None:
    """Write a model; the file appears under its name only when it is complete.

    `extra` is JSON-ready and comes back from `load_model` unchanged.
    """
    target = Path(path)
    members = model.members
    header = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "admercs_version": __version__,
        "schema": model.schema.to_dict(),
        "settings": vars(model.settings),
        "n_rows": model.n_rows,
        "extra": extra,
    }
    arrays: dict[str, NDArray] = {
        **{f"forest/{name}": array for name, array in model.forest._asdict().items()},
        **{f"likelihoods/{name}": array for name, array in model.likelihoods._asdict().items()},
        **_neighbours_to_arrays(model.neighbours),
        "log_lambda": model.log_lambda,
        "evidence_quantiles": model.evidence_quantiles,
        "members/node": np.array(list(members), np.int64),
        "members/count": np.array([len(rows) for rows in members.values()], np.int64),
        "members/row": np.concatenate([np.zeros(0, np.int64), *members.values()]),
    }
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with (
            os.fdopen(handle, "wb") as stream,
            zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
        ):
            archive.writestr(HEADER, json.dumps(header, ensure_ascii=False))
            for name, array in arrays.items():
                buffer = io.BytesIO()
                np.lib.format.write_array(buffer, np.ascontiguousarray(array), allow_pickle=False)
                archive.writestr(f"{name}.npy", buffer.getvalue())
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _neighbours_to_arrays(neighbours: Neighbours) -> dict[str, NDArray]:
    rest = neighbours._asdict()
    likeness = rest.pop("likeness")._asdict()
    return {
        **{f"likeness/{name}": array for name, array in likeness.items()},
        **{f"neighbours/{name}": array for name, array in rest.items()},
    }


def _neighbours_from_arrays(arrays: dict[str, NDArray]) -> Neighbours:
    likeness = Likeness(*(arrays[f"likeness/{name}"] for name in Likeness._fields))
    return Neighbours(likeness, *(arrays[f"neighbours/{name}"] for name in Neighbours._fields[1:]))


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def load_model(path: str | os.PathLike[str]) -> tuple[Model, dict[str, Any]]:
    """Read a model written by `save_model`.

    Raises
    ------
    FileNotFoundError
        There is no such file.
    ModelFileError
        The file is no model, is damaged, or comes from a newer version.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            header = _read_header(path, archive)
            arrays = {
                name.removesuffix(".npy"): _read_array(archive, name)
                for name in archive.namelist()
                if name.endswith(".npy")
            }
        model = _assemble(header, arrays)
        check_model(model)
    except ModelFileError:
        raise
    except zipfile.BadZipFile as error:
        raise ModelFileError(
            f"{path} is not an admercs model, or it was cut short or damaged ({error}). "
            "Save the model again."
        ) from error
    except (KeyError, ValueError, TypeError, EOFError, IndexError) as error:
        raise ModelFileError(f"{path} is damaged: {error}. Save the model again.") from error
    return model, header["extra"]


def _read_header(path: str | os.PathLike[str], archive: zipfile.ZipFile) -> dict[str, Any]:
    """Return the JSON part after checking that it is ours and not from the future."""
    if HEADER not in archive.namelist():
        raise ModelFileError(f"{path} is a zip archive but not an admercs model.")
    header = json.loads(archive.read(HEADER))
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise ModelFileError(f"{path} is not an admercs model.")
    if header["format_version"] > FORMAT_VERSION:
        raise ModelFileError(
            f"{path} was written by admercs {header['admercs_version']}, whose model format "
            f"{header['format_version']} is newer than this version's ({FORMAT_VERSION}). "
            "Upgrade admercs to read it."
        )
    return header


def _read_array(archive: zipfile.ZipFile, name: str) -> NDArray:
    return np.lib.format.read_array(io.BytesIO(archive.read(name)), allow_pickle=False)


def _assemble(header: dict[str, Any], arrays: dict[str, NDArray]) -> Model:
    """Put the model together from its parts."""
    settings = dict(header["settings"])
    if header["format_version"] < 2:
        # Before idle tests were looked for and wider contexts asked, and when all rows were on the jury.
        settings["feedback"] = "paper"
        n_nodes = len(arrays["forest/feature"])
        arrays["forest/idle"] = np.zeros(n_nodes, np.uint64)
        arrays["forest/wider"] = np.full(n_nodes, -1, np.int32)
    if header["format_version"] < 3:  # before rows were compared with others
        arrays |= _neighbours_to_arrays(Neighbours.nobody(len(arrays["forest/root"]) - 1))
    elif header["format_version"] < 4:  # before it mattered how far away they are
        arrays |= {f"neighbours/{name}": np.zeros(1) for name in ("usual", "louder")}
        arrays["neighbours/mostly"] = np.zeros(len(arrays["forest/root"]) - 1)
    rows = np.split(arrays["members/row"], np.cumsum(arrays["members/count"])[:-1])
    return Model(
        schema=Schema.from_dict(header["schema"]),
        forest=Forest(*(arrays[f"forest/{name}"] for name in Forest._fields)),
        likelihoods=Likelihoods(*(arrays[f"likelihoods/{name}"] for name in Likelihoods._fields)),
        log_lambda=arrays["log_lambda"],
        settings=Settings(**settings),
        n_rows=int(header["n_rows"]),
        evidence_quantiles=arrays["evidence_quantiles"],
        members={int(node): part for node, part in zip(arrays["members/node"], rows, strict=False)},
        neighbours=_neighbours_from_arrays(arrays),
    )
