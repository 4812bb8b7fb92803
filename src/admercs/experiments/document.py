"""A page as plain blocks, and its two forms: Markdown and HTML. Rendering never computes."""

from __future__ import annotations

import html
import textwrap
from dataclasses import dataclass, field
from pathlib import Path

__all__ = ["Document", "Table"]

_WIDTH = 100  # of lines in Markdown


@dataclass(frozen=True)
class Table:
    """A table of text; cells whose text starts with ``**`` are shown in bold."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def markdown(self) -> str:
        """Return the table in Markdown."""
        lines = [self.header, ("---",) * len(self.header), *self.rows]
        return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)

    def html(self) -> str:
        """Return the table in HTML."""
        head = "".join(f"<th>{html.escape(cell)}</th>" for cell in self.header)
        body = "".join(
            "<tr>" + "".join(f"<td>{_inline(cell)}</td>" for cell in row) + "</tr>"
            for row in self.rows
        )
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _wrapped(line: str) -> str:
    """Break a long line; what follows is indented like the items of a list."""
    indent = " " * (len(line) - len(line.lstrip()) + 3)
    return textwrap.fill(line, _WIDTH, subsequent_indent=indent) if len(line) > _WIDTH else line


def _inline(text: str) -> str:
    if text.startswith("**") and text.endswith("**"):
        return f"<b>{html.escape(text.strip('*'))}</b>"
    return html.escape(text)


@dataclass(frozen=True)
class _Heading:
    level: int
    text: str

    def markdown(self) -> str:
        return "#" * self.level + " " + self.text

    def html(self) -> str:
        return f"<h{self.level}>{html.escape(self.text)}</h{self.level}>"


@dataclass(frozen=True)
class _Text:
    text: str

    def markdown(self) -> str:
        return textwrap.fill(self.text, _WIDTH, break_long_words=False, break_on_hyphens=False)

    def html(self) -> str:
        return f"<p>{html.escape(self.text)}</p>"


@dataclass(frozen=True)
class _Printed:
    text: str

    def markdown(self) -> str:
        lines = (_wrapped(line) for line in self.text.splitlines())
        return "```text\n" + "\n".join(lines) + "\n```"

    def html(self) -> str:
        return f"<pre>{html.escape(self.text)}</pre>"


@dataclass(frozen=True)
class _Figure:
    path: str
    caption: str

    def markdown(self) -> str:
        return f"![{self.caption}]({self.path})"

    def html(self) -> str:
        caption = html.escape(self.caption)
        return (
            f'<figure><img src="{html.escape(self.path)}" alt="{caption}">'
            f"<figcaption>{caption}</figcaption></figure>"
        )


_STYLE = (
    "body{font:15px/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem}"
    "table{border-collapse:collapse;font-variant-numeric:tabular-nums}"
    "td,th{border-bottom:1px solid #ddd;padding:.2rem .6rem;text-align:left}"
    "img{max-width:100%}pre{white-space:pre-wrap}figure{margin:1rem 0}figcaption{color:#666}"
)


@dataclass
class Document:
    """A page under construction.

    Parameters
    ----------
    title : str
        Title of the page.

    Examples
    --------
    >>> from admercs.experiments.document import Document
    >>> page = Document("Results")
    >>> page.text("All is well.")
    >>> print(page.markdown())
    # Results
    <BLANKLINE>
    All is well.
    <BLANKLINE>
    """

    title: str
    _blocks: list[_Heading | _Text | _Printed | _Figure | Table] = field(default_factory=list)

    def heading(self, text: str, level: int = 2) -> None:
        """Add a heading."""
        self._blocks.append(_Heading(level, text))

    def text(self, text: str) -> None:
        """Add a paragraph."""
        self._blocks.append(_Text(text))

    def printed(self, text: str) -> None:
        """Add text in fixed width."""
        self._blocks.append(_Printed(text))

    def figure(self, path: Path | str, caption: str) -> None:
        """Add a picture by its address relative to the page."""
        self._blocks.append(_Figure(str(path), caption))

    def table(self, header: list[str], rows: list[list[str]]) -> None:
        """Add a table."""
        self._blocks.append(Table(tuple(header), tuple(tuple(row) for row in rows)))

    def markdown(self) -> str:
        """Return the page in Markdown."""
        return "\n\n".join([f"# {self.title}", *(b.markdown() for b in self._blocks)]) + "\n"

    def html(self) -> str:
        """Return the page in HTML."""
        title = html.escape(self.title)
        body = "\n".join(block.html() for block in self._blocks)
        return (
            f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
            f"<style>{_STYLE}</style></head>\n<body><h1>{title}</h1>\n{body}\n</body></html>\n"
        )
