"""The figures of a report, for notebooks and files."""

from __future__ import annotations

import base64
import html
import os
import re
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Union

from . import program

if TYPE_CHECKING:
    from .seeds import Seeds
    from .study import Study


@dataclass(frozen=True)
class Figure:
    """A figure as SVG text, which notebooks show."""

    name: str
    title: str
    svg: str

    def __repr__(self) -> str:
        return f"fedfast.Figure({self.name!r}: {self.title})"

    def _repr_svg_(self) -> str:
        return self.svg

    def _repr_html_(self) -> str:
        """Return an image, which pages made of notebooks keep; they strip elements from SVG."""
        data = base64.b64encode(self.svg.encode()).decode()
        return f'<img alt="{html.escape(html.unescape(self.title))}" src="data:image/svg+xml;base64,{data}">'

    def save(self, path: "Union[str, os.PathLike[str]]") -> None:
        """Write the figure to an SVG file."""
        Path(path).write_text(self.svg, encoding="utf-8")


def figures(*studies: "Union[Study, Seeds]") -> "dict[str, Figure]":
    """Return the figures of a report on studies by name.

    One study has "score", "loss", "test" and others. Several studies, or one with several seeds, have those of their comparison: "test", with
    means and intervals over seeds.
    """
    if not studies:
        raise TypeError("figures takes at least one study")
    with tempfile.TemporaryDirectory() as directory:
        out = os.path.join(directory, "report.html")
        program.call(["report", *(str(s.path) for s in studies), "--out", out], progress=False)
        page = Path(out).read_text(encoding="utf-8")
    found = {}
    for match in re.finditer(r'<svg[^>]* id="figure-(\w+)-([\w-]+)".*?</svg>', page, re.DOTALL):
        title = re.search(r"<title[^>]*>(.*?)</title>", match[0], re.DOTALL)
        found[match[1], match[2]] = Figure(match[2], title[1] if title else "", match[0])
    compared = any(of == "all" for of, _ in found)
    return {name: figure for (of, name), figure in found.items() if (of == "all") == compared}


def pick(studies: "tuple[Union[Study, Seeds], ...]", name: "str | None", order: "tuple[str, ...]") -> Figure:
    """Return the figure of a name, or the first of order that the studies have."""
    found = figures(*studies)
    for wanted in order if name is None else (name,):
        if wanted in found:
            return found[wanted]
    raise program.Error(f"no figure {name or order[0]!r}; there are {', '.join(found) or 'none yet'}")
