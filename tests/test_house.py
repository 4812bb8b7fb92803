"""Sizes and names that keep the package readable."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "admercs"
GUESTS = {"experiments", "baselines", "datasets"}
MAX_WIDTH, MAX_LINES, MAX_PARAMETERS = 100, 50, 7
# The lines of the package without later capabilities, and what each of them may add.
ADDED = {
    "numbers and dates in texts": 1_020,
    "what stands out in columns": 230,
    "workbooks, archives, lines before a header": 320,
    "facets": 450,
    "settings that make no sense are named": 83,
    "questions about columns in one reading": 60,
    "what texts resemble, columns that determine each other": 930,
    "repairs": 815,
    "values as findings": 250,
    "wide tables": 520,
    "rows compared in tables of any size": 480,
    "relations between columns": 1_450,
    "checks of files from strangers": 120,
    "large tables in less time": 350,
    "single rows in less time": 110,
    "many rows explained in less time": 268,
    "keys and rows that repeat": 520,
    "look-alikes and gaps in columns": 100,
    "parts of dates": 360,
    "beginnings and ends of texts": 130,
    "wrong cells before odd ones": 240,
    "what is expected of a text, and what it lacks": 120,
    "free text, e-mail addresses, codes, and which facet is told": 300,
    "new rows that are odder than all training rows": 10,
    "texts as bytes": 580,
    "similar rows by their labels": 15,
    "numbers and dates too large to read or to draw": 30,
    "columns and parameters of odd types": 45,
    "damaged files of tables, pipes": 75,
    "values written into other rows, a second form, gaps beside categories": 110,
    "values whose rows have nothing in common": 103,
    "misspelt words and numbers put right as others state them": 80,
    "numbers that determine each other": 180,
    "slips of short codes, and where slips are many": 40,
    "far values in columns of few values": 30,
    "a first fit in less time": 28,
    "what is typical beside a group far outside": 22,
}
MAX_PACKAGE_LINES, MAX_MODULES = 15_000 + sum(ADDED.values()), 140

# scikit-learn's way: an estimator takes all of its parameters by name.
MANY_PARAMETERS = {"ADMERCS.__init__"}

Function = ast.FunctionDef | ast.AsyncFunctionDef


def modules(*, guests: bool = True) -> list[Path]:
    found = sorted(PACKAGE.rglob("*.py"))
    assert len(found) > 50
    return [path for path in found if guests or path.relative_to(PACKAGE).parts[0] not in GUESTS]


def module_name(path: Path) -> str:
    return ".".join(path.relative_to(PACKAGE).with_suffix("").parts)


def functions(tree: ast.AST, prefix: str = "") -> Iterator[tuple[str, Function]]:
    """Yield all functions with their names, those within classes and functions too."""
    for node in ast.iter_child_nodes(tree):
        name = prefix + (getattr(node, "name", None) or "")
        if isinstance(node, Function):
            yield name, node
        is_scope = isinstance(node, Function | ast.ClassDef)
        yield from functions(node, f"{name}." if is_scope else prefix)


def is_kernel(function: Function) -> bool:
    """Say whether a function is compiled: splitting it costs time at every start."""
    return any("kernel" in ast.unparse(decorator) for decorator in function.decorator_list)


def n_lines(function: Function) -> int:
    """Count the lines of a function's body without its docstring."""
    body = function.body[ast.get_docstring(function) is not None :]
    return body[-1].end_lineno - body[0].lineno + 1 if body else 0


def n_parameters(function: Function) -> int:
    """Count the parameters that a caller may pass, each ``*args`` and ``**kwargs`` as one."""
    spec = function.args
    named = [*spec.posonlyargs, *spec.args, *spec.kwonlyargs]
    is_bound = bool(named) and named[0].arg in ("self", "cls")
    return len(named) - is_bound + (spec.vararg is not None) + (spec.kwarg is not None)


def too_large(source: str) -> list[str]:
    """Name the functions that are too long or take too many parameters."""
    return [
        f"{name}: {n_lines(function)} lines, {n_parameters(function)} parameters"
        for name, function in functions(ast.parse(source))
        if not is_kernel(function)
        and (
            n_lines(function) > MAX_LINES
            or (n_parameters(function) > MAX_PARAMETERS and name not in MANY_PARAMETERS)
        )
    ]


def test_functions_are_short() -> None:
    found = {
        module_name(path): too_large(path.read_text(encoding="utf-8"))
        for path in modules(guests=False)
    }
    assert {name: large for name, large in found.items() if large} == {}


def test_what_is_too_large_is_found() -> None:
    long = "    x = 1\n" * 51
    assert too_large("def f():\n" + long) == ["f: 51 lines, 0 parameters"]
    assert too_large('class A:\n  def f(self):\n    """Say."""\n' + long[10:]) == []
    many = "def {name}(a, b, /, c, d, *, e, f, g{more}): pass\n"
    assert too_large(many.format(name="f", more="")) == []
    assert len(too_large(many.format(name="f", more=", h"))) == 1
    assert len(too_large(many.format(name="f", more=", **h"))) == 1
    nested = (
        "class A:\n  def f(self, a, b, c, d, e, f, g, h):\n    def g(a, b, c, d, e, f, g, h): ..."
    )
    assert [text.split(":")[0] for text in too_large(nested)] == ["A.f", "A.f.g"]
    assert (
        too_large("@kernel\n" + many.format(name="f", more=", h") + "@kernel\ndef g():\n" + long)
        == []
    )


def test_names_of_modules_and_classes_are_unique() -> None:
    names: Counter[str] = Counter()
    for path in modules():
        if not path.stem.startswith("__"):
            names[f"module {path.stem}"] += 1
        tree = ast.parse(path.read_text(encoding="utf-8"))
        names.update(f"class {n.name}" for n in ast.walk(tree) if isinstance(n, ast.ClassDef))
    assert names["module estimator"] == names["class ADMERCS"] == 1
    assert {name: n for name, n in names.items() if n > 1} == {}


def texts() -> Iterator[Path]:
    for folder in ("src", "tests", "benchmarks"):
        yield from sorted((ROOT / folder).rglob("*.py"))
    yield from (ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md")))


def test_no_line_is_too_long() -> None:
    wide: dict[str, list[int]] = {}
    for path in texts():
        lines = path.read_text(encoding="utf-8").splitlines()
        found = [number for number, line in enumerate(lines, 1) if len(line) > MAX_WIDTH]
        if found:
            wide[path.name if path.suffix == ".md" else str(path.relative_to(ROOT))] = found
    assert wide == {}


def test_the_package_is_small() -> None:
    own = modules(guests=False)
    n_lines = sum(len(path.read_text(encoding="utf-8").splitlines()) for path in own)
    assert n_lines <= MAX_PACKAGE_LINES
    assert len(own) <= MAX_MODULES


def test_each_step_has_a_module_a_section_and_a_test_module() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    method = (ROOT / "docs" / "method.md").read_text(encoding="utf-8")
    sections = {
        re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-")
        for title in re.findall(r"^## (.+)$", method, re.MULTILINE)
    }
    steps = re.findall(r"\| `(\w+)/(\w+)\.py` \| \[[^]]+\]\(method\.md#([\w-]+)\) \|", page)
    assert len(steps) > 10
    for package, module, section in steps:
        assert (PACKAGE / package / f"{module}.py").is_file(), module
        assert (ROOT / "tests" / package / f"test_{module}.py").is_file(), module
        assert section in sections, section
