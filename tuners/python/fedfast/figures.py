"""The figures of a report, for notebooks and files."""

from __future__ import annotations

import base64
import html
import os
from dataclasses import dataclass, field
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
    studies: "tuple[str, ...]" = field(default=(), repr=False)

    def __repr__(self) -> str:
        return f"fedfast.Figure({self.name!r}: {self.title})"

    def _repr_svg_(self) -> str:
        return self.svg

    def _repr_html_(self) -> str:
        """Return an image, which pages made of notebooks keep; they strip elements from SVG."""
        data = base64.b64encode(self.svg.encode()).decode()
        return f'<img alt="{html.escape(self.title)}" src="data:image/svg+xml;base64,{data}">'

    def save(self, path: "Union[str, os.PathLike[str]]") -> None:
        """Write the figure to a file, whose name ends in .svg, .pdf, .png (300 dpi), or .csv for its numbers."""
        program.call(["figure", *self.studies, "--name", self.name, "--out", os.fspath(path)], progress=False)


def figures(*studies: "Union[Study, Seeds]") -> "dict[str, Figure]":
    """Return the figures of studies by name.

    One study has "score", "loss", "test" and others. Several studies, or one with several seeds, have those of their comparison: "test", with
    means and intervals over seeds.
    """
    if not studies:
        raise TypeError("figures takes at least one study")
    paths = tuple(str(s.path) for s in studies)
    return {f["name"]: Figure(**f, studies=paths) for f in program.ask("figure", *paths)}


def pick(studies: "tuple[Union[Study, Seeds], ...]", name: "str | None", order: "tuple[str, ...]") -> Figure:
    """Return the figure of a name, or the first of order that the studies have."""
    found = figures(*studies)
    for wanted in order if name is None else (name,):
        if wanted in found:
            return found[wanted]
    raise program.Error(f"no figure {name or order[0]!r}; there are {', '.join(found) or 'none yet'}")
