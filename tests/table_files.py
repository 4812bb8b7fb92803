"""Files of all formats that hold a small table, to be damaged."""

from __future__ import annotations

import bz2
import datetime as dt
import gzip
import lzma
import sqlite3
import zipfile
from contextlib import closing
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import feather

XLSX = "http://schemas.openxmlformats.org"
# The members of a workbook, without what a spreadsheet program would add.
SHEET = {
    "[Content_Types].xml": f'<Types xmlns="{XLSX}/package/2006/content-types"/>',
    "_rels/.rels": f'<Relationships xmlns="{XLSX}/package/2006/relationships"><Relationship '
    f'Id="r" Type="{XLSX}/officeDocument/2006/relationships/officeDocument" '
    'Target="xl/workbook.xml"/></Relationships>',
    "xl/workbook.xml": f'<workbook xmlns="{XLSX}/spreadsheetml/2006/main" '
    f'xmlns:r="{XLSX}/officeDocument/2006/relationships"><sheets>'
    '<sheet name="S" sheetId="1" r:id="r"/></sheets></workbook>',
    "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{XLSX}/package/2006/relationships">'
    f'<Relationship Id="r" Type="{XLSX}/officeDocument/2006/relationships/worksheet" '
    'Target="worksheets/sheet1.xml"/></Relationships>',
    "xl/worksheets/sheet1.xml": f'<worksheet xmlns="{XLSX}/spreadsheetml/2006/main"><sheetData>'
    + "".join(
        f'<row r="{k}"><c r="A{k}" t="inlineStr"><is><t>v{k % 5}</t></is></c>'
        f'<c r="B{k}"><v>{k * 1.5}</v></c></row>'
        for k in range(1, 40)
    )
    + "</sheetData></worksheet>",
}
CSV = "a,b,c\n" + "".join(f"{k / 2},t{k % 5},2024-01-{k % 28 + 1:02}\n" for k in range(100))
ARFF = "@attribute a real\n@attribute b {x,y}\n@data\n" + "1,x\n2,y\n" * 30


def make_files(folder: Path) -> list[Path]:
    """Write the files, and return their paths."""
    n = 120
    table = pa.table(
        {
            "x": np.arange(n) * 1.5,
            "text": [f"text {k % 9} é" if k % 11 else None for k in range(n)],
            "long": pa.array([f"a longer text {k % 9}" for k in range(n)], pa.large_string()),
            "day": [dt.datetime(2024, 1, 1) + dt.timedelta(hours=k) for k in range(n)],
            "kind": pa.array(list("abc") * (n // 3)).dictionary_encode(),
            "flag": [bool(k % 2) for k in range(n)],
        }
    )
    feather.write_feather(table, folder / "plain.feather", compression="uncompressed")
    feather.write_feather(table, folder / "packed.feather", compression="lz4")
    pq.write_table(table, folder / "packed.parquet")
    pq.write_table(table, folder / "plain.parquet", compression="none", use_dictionary=False)
    _write_zip(folder / "a.xlsx", SHEET)
    _write_zip(folder / "a.zip", {"a.csv": CSV})
    _write_zip(folder / "p.zip", {"p.parquet": (folder / "plain.parquet").read_bytes()})
    for path in (folder / "a.sqlite", folder / "a.duckdb"):
        connect = sqlite3.connect if path.suffix == ".sqlite" else duckdb.connect
        with closing(connect(path)) as database:
            database.execute("create table t (a integer, b text)")
            database.executemany("insert into t values (?, ?)", [(k, f"t{k}") for k in range(99)])
            database.commit()
    texts = {"a.csv": CSV, "a.jsonl": '{"a": 1, "b": "x"}\n' * 50, "a.arff": ARFF}
    for name, text in texts.items():
        (folder / name).write_text(text)
    packers = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress}
    packers["zst"] = lambda content: pa.compress(content, "zstd", asbytes=True)
    for ending, pack in packers.items():
        (folder / f"a.csv.{ending}").write_bytes(pack(CSV.encode()))
    return sorted(folder.iterdir())


def _write_zip(path: Path, members: dict[str, str] | dict[str, bytes]) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
