"""Workbooks, archives, Feather, other encodings, and what stands before a table."""

import datetime as dt
import zipfile

import pyarrow as pa
import pytest
from pyarrow import feather, parquet

from admercs.cli import main
from admercs.cli.csvfile import ReadOptions
from admercs.cli.errors import UserError
from admercs.cli.reader import open_table

CSV = "name,v\ncafé,1\nthé,2\n"
TABLE = {"name": ["café", "thé"], "v": [1, 2]}
_CONTENT = """<?xml version="1.0"?>
<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">
<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>
<Default Extension="xml" ContentType="application/xml"/></Types>"""
_RELATIONS = "http://schemas.openxmlformats.org/package/2006/relationships"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"


def read(*sources, **options):
    with open_table([str(source) for source in sources], ReadOptions(**options)) as table:
        return table.read(10**6)[0], table.notes


def cell_xml(value):
    if value is None:
        return "<c/>"
    if isinstance(value, bool):
        return f'<c t="b"><v>{int(value)}</v></c>'
    if isinstance(value, dt.datetime):
        days = (value - dt.datetime(1899, 12, 30)) / dt.timedelta(days=1)
        return f'<c s="1"><v>{days!r}</v></c>'
    if isinstance(value, str):
        return f'<c t="inlineStr"><is><t>{value}</t></is></c>'
    return f"<c><v>{value!r}</v></c>"


def write_workbook(path, sheets):
    """Write a small workbook as the format's standard describes it."""
    names = list(sheets)
    links = "".join(
        f'<Relationship Id="r{k}" Type="{_OFFICE}/worksheet" Target="worksheets/sheet{k}.xml"/>'
        for k in range(len(names))
    )
    listed = "".join(
        f'<sheet name="{name}" sheetId="{k + 1}" r:id="r{k}"/>' for k, name in enumerate(names)
    )
    with zipfile.ZipFile(path, "w") as book:
        book.writestr("[Content_Types].xml", _CONTENT)
        book.writestr(
            "_rels/.rels",
            f'<Relationships xmlns="{_RELATIONS}"><Relationship Id="r" '
            f'Type="{_OFFICE}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        )
        book.writestr(
            "xl/workbook.xml",
            f'<workbook xmlns="{_MAIN}" xmlns:r="{_OFFICE}"><sheets>{listed}</sheets></workbook>',
        )
        book.writestr(
            "xl/_rels/workbook.xml.rels",
            f'<Relationships xmlns="{_RELATIONS}">{links}<Relationship Id="s" '
            f'Type="{_OFFICE}/styles" Target="styles.xml"/></Relationships>',
        )
        book.writestr(
            "xl/styles.xml",
            f'<styleSheet xmlns="{_MAIN}"><cellXfs><xf numFmtId="0"/><xf numFmtId="22"/></cellXfs>'
            "</styleSheet>",
        )
        for k, rows in enumerate(sheets.values()):
            lines = "".join(f"<row>{''.join(map(cell_xml, row))}</row>" for row in rows)
            book.writestr(
                f"xl/worksheets/sheet{k}.xml",
                f'<worksheet xmlns="{_MAIN}"><sheetData>{lines}</sheetData></worksheet>',
            )


DAY, MOMENT = dt.datetime(2024, 2, 29), dt.datetime(2024, 2, 29, 12)
ROWS = [
    ["name", "n", "share", "day", "moment", "ok", "odd"],
    ["a", 1, 0.5, DAY, DAY, True, 7],
    ["b", 2, 1, DAY, MOMENT, False, "n.a."],
    [None, None, 2, None, None, None, 2.5],
    ["NA", 4, 3, DAY, MOMENT, True, DAY],
]
EXPECTED = {
    "name": ["a", "b", None, None],
    "n": [1, 2, None, 4],
    "share": [0.5, 1.0, 2.0, 3.0],
    "day": [DAY.date(), DAY.date(), None, DAY.date()],
    "moment": [DAY, MOMENT, None, MOMENT],
    "ok": [True, False, None, True],
    "odd": ["7", "n.a.", "2.5", "2024-02-29"],
}


def test_a_workbook_with_one_sheet(tmp_path):
    write_workbook(tmp_path / "t.xlsx", {"data": ROWS, "empty": []})
    table, notes = read(tmp_path / "t.xlsx")
    assert table.to_pydict() == EXPECTED
    assert notes == ()
    # Whatever its name, it is a workbook.
    (tmp_path / "t.xlsx").rename(tmp_path / "t")
    assert read(tmp_path / "t", missing=["4"])[0].column("n").to_pylist() == [1, 2, None, None]


def test_sheets_are_chosen_by_name_or_number(tmp_path):
    path = tmp_path / "t.xlsx"
    write_workbook(path, {"first": [["x"], [1]], "2": [["y"], [2]], "third": [["z"], [3]]})
    assert read(path, table_name="third")[0].to_pydict() == {"z": [3]}
    assert read(path, table_name="1")[0].to_pydict() == {"x": [1]}
    assert read(path, table_name="2")[0].to_pydict() == {"y": [2]}  # its name comes first
    with pytest.raises(
        UserError, match=r"holds 3 sheets: first, 2, third. Choose one with --table"
    ):
        read(path)
    with pytest.raises(UserError, match="has no sheet 'fourth'; it has first, 2, third"):
        read(path, table_name="fourth")


def test_rows_before_a_header_in_a_workbook(tmp_path):
    path = tmp_path / "t.xlsx"
    write_workbook(path, {"data": [["Sales 2024"], [None], ["x", "y", "z"], [1, 2, 3], [4, 5, 6]]})
    table, notes = read(path)
    assert table.to_pydict() == {"x": [1, 4], "y": [2, 5], "z": [3, 6]}
    assert notes == ("t.xlsx: row 3 was taken for the header, and 2 before it left out",)


@pytest.mark.parametrize(
    ("rows", "message"),
    [([["x", "x"], [1, 2]], "'x' more than once"), ([], "all of its sheets are empty")],
)
def test_workbooks_without_a_table(tmp_path, rows, message):
    write_workbook(tmp_path / "t.xlsx", {"data": rows})
    with pytest.raises(UserError, match=message):
        read(tmp_path / "t.xlsx")


def test_damaged_workbooks(tmp_path):
    write_workbook(tmp_path / "t.xlsx", {"data": ROWS})
    content = (tmp_path / "t.xlsx").read_bytes()
    for size in (30, len(content) // 2, len(content) - 10):
        (tmp_path / "t.xlsx").write_bytes(content[:size])
        with pytest.raises(UserError, match=r"cannot read .*t.xlsx"):
            read(tmp_path / "t.xlsx")
    (tmp_path / "t.xls").write_bytes(b"\xd0\xcf\x11\xe0" * 200)
    with pytest.raises(UserError, match=r"cannot read .*t.xls"):
        read(tmp_path / "t.xls")


def test_feather(tmp_path):
    table = pa.table({"x": [1, 2], "day": [DAY.date(), None], "c": pa.array(["a", "b"])})
    feather.write_feather(table, str(tmp_path / "t.feather"))
    assert read(tmp_path / "t.feather")[0].to_pydict() == table.to_pydict()
    content = (tmp_path / "t.feather").read_bytes()
    (tmp_path / "t.feather").write_bytes(content[:-20])
    with pytest.raises(UserError, match=r"cannot read .*t.feather"):
        read(tmp_path / "t.feather")


@pytest.mark.parametrize("name", ["t.zip", "t"])
def test_an_archive_of_one_file(tmp_path, name):
    with zipfile.ZipFile(tmp_path / name, "w") as archive:
        archive.writestr("data/", "")
        archive.writestr("data/t.csv", CSV)
        archive.writestr("__MACOSX/._t.csv", "x")
    assert read(tmp_path / name)[0].to_pydict() == TABLE
    assert read(f"select * from '{tmp_path / name}'")[0].to_pydict() == TABLE


def test_an_archive_of_a_file_that_is_no_csv(tmp_path):
    lines = '{"name": "café", "v": 1}\n{"name": "thé", "v": 2}\n'
    parquet.write_table(pa.table(TABLE), tmp_path / "t.parquet")
    contents = {"t.jsonl": lines.encode(), "t.parquet": (tmp_path / "t.parquet").read_bytes()}
    for name, content in contents.items():
        with zipfile.ZipFile(tmp_path / "t.zip", "w") as archive:
            archive.writestr(name, content)
        assert read(tmp_path / "t.zip")[0].to_pydict() == TABLE
        assert read(f"select * from '{tmp_path / 't.zip'}'")[0].to_pydict() == TABLE


def test_archives_that_hold_no_single_table(tmp_path):
    path = tmp_path / "t.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.csv", CSV)
        archive.writestr("b.csv", CSV)
    with pytest.raises(UserError, match=r"t.zip holds 2 files \(a.csv, b.csv\).*unpack it"):
        read(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.pdf", "%PDF-1.4")
    with pytest.raises(UserError, match=r"a.pdf is a PDF document, not a table"):
        read(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.csv", "a,b\n1,2\n3\n")
    with pytest.raises(UserError, match=r"t.zip, line 3: 1 field where the header has 2"):
        read(path)
    path.write_bytes(path.read_bytes()[:40])
    with pytest.raises(UserError, match=r"t.zip is damaged or was cut short"):
        read(path)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig"])
def test_a_mark_at_the_beginning_says_the_encoding(tmp_path, encoding):
    (tmp_path / "t.csv").write_bytes(CSV.encode(encoding))
    assert read(tmp_path / "t.csv")[0].to_pydict() == TABLE
    with zipfile.ZipFile(tmp_path / "t.zip", "w") as archive:
        archive.writestr("t.csv", CSV.encode(encoding))
    assert read(tmp_path / "t.zip")[0].to_pydict() == TABLE


PREAMBLES = {
    "a title": "Sales 2024\n",
    "a title and an empty line": "Sales 2024\n\n",
    "notes with commas": "# drawn by A, B and C\n# on 3 May\n",
    "a title with the delimiters of a spreadsheet": "Sales,,\n,,\n",
    "a quoted title": '"Sales, all\nof 2024"\n',
}


@pytest.mark.parametrize("case", PREAMBLES)
def test_lines_before_the_header_are_left_out_and_it_is_said(tmp_path, case):
    before = PREAMBLES[case]
    path = tmp_path / "t.csv"
    path.write_text(before + "x,y,z\n1,2,3\n4,,6\n")
    table, notes = read(path)
    assert table.to_pydict() == {"x": [1, 4], "y": [2, None], "z": [3, 6]}
    n = before.count("\n")
    assert notes == (f"t.csv: line {n + 1} was taken for the header, and {n} before it left out",)
    path.write_text(before + "x,y,z\n1,2,3\n4,,6\n7,8\n")
    with pytest.raises(UserError, match=f"line {n + 4}: 2 fields where the header has 3"):
        read(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\n1,2,3\n4,5,6\n", "line 2: 3 fields where the header has 2"),  # as R writes it
        ("a\n1,2,3\n4,5,6\n", "line 2: 3 fields where the header has 1"),
        ("a,b,c\n1,2\n3,4\n", "line 2: 2 fields where the header has 3"),
    ],
)
def test_headers_of_another_length_stay_errors(tmp_path, text, message):
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(UserError, match=message):
        read(tmp_path / "t.csv")


def test_tables_whose_first_line_looks_odd_stay_whole(tmp_path):
    path = tmp_path / "t.csv"
    for text in ("2019,2020,2021\n1,2,3\n", "x\n1\n2\n", ",a,b\n0,1,2\n", "a,b,\n1,2,3\n"):
        path.write_text(text)
        assert read(path)[1] == ()
    path.write_text("x\n1\n2\n")
    assert read(path)[0].to_pydict() == {"x": [1, 2]}


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"%PDF-1.7\n", "a PDF document"),
        (b"<!DOCTYPE html><html>", "a web page"),
        (b"\x89PNG\r\n", "a picture"),
        (b"\x89HDF\r\n", "an HDF5 file"),
        (b"\x80\x04\x95", "a Python pickle"),
    ],
)
def test_files_that_are_no_tables(tmp_path, content, what):
    (tmp_path / "t.csv").write_bytes(content * 9)
    with pytest.raises(UserError, match=f"t.csv is {what}, not a table: save the table as CSV"):
        read(tmp_path / "t.csv")


def test_a_folder_of_several_kinds_is_refused(tmp_path):
    (tmp_path / "a.csv").write_text(CSV)
    feather.write_feather(pa.table({"x": [1]}), str(tmp_path / "b.feather"))
    assert read(tmp_path)[0].to_pydict() == TABLE
    (tmp_path / "b.parquet").write_bytes(b"PAR1")
    with pytest.raises(UserError, match=r"files of several kinds \(.parquet, .csv\)"):
        read(tmp_path)


def test_the_header_is_said_on_the_command_line(tmp_path, capsys):
    lines = "".join(f"{k % 7},{k % 5}\n" for k in range(200))
    (tmp_path / "t.csv").write_text(f"Sales\nx,y\n{lines}")
    assert main(["detect", str(tmp_path / "t.csv"), "--jobs", "1"]) == 0
    assert (
        "t.csv: line 2 was taken for the header, and 1 before it left out"
        in capsys.readouterr().err
    )
