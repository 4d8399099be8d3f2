"""Examples, as notebooks and as scripts: `python -m fedfast.examples DIR` writes them into a directory.

A script's cells begin with "# %%", as editors show them; those of text with "# %% [markdown]".
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def scripts() -> "list[Path]":
    """Return the paths of all examples."""
    return sorted(p for p in Path(__file__).parent.glob("*.py") if not p.name.startswith("__"))


def notebook(script: str) -> "dict[str, Any]":
    """Return the notebook of a script, in version 4.5 of Jupyter's format, without outputs."""
    cells: "list[dict[str, Any]]" = []
    for number, part in enumerate(script.split("# %%")[1:]):
        kind, _, text = part.partition("\n")
        lines = text.strip("\n").splitlines(keepends=True)
        cell: "dict[str, Any]" = {"id": f"cell-{number}", "metadata": {}}
        if kind.strip() == "[markdown]":
            cell.update(cell_type="markdown", source=[line[2:] if line.startswith("# ") else line[1:] for line in lines])
        else:
            cell.update(cell_type="code", source=lines, execution_count=None, outputs=[])
        cells.append(cell)
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return {"cells": cells, "metadata": {"kernelspec": kernel, "language_info": {"name": "python"}}, "nbformat": 4, "nbformat_minor": 5}


def write(directory: Path) -> "list[Path]":
    """Write all examples into a directory, a notebook and a script each, and return the paths of the notebooks. No file is replaced."""
    directory.mkdir(parents=True, exist_ok=True)
    written = []
    for script in scripts():
        text = script.read_text(encoding="utf-8")
        file = directory / script.with_suffix(".ipynb").name
        for path, content in ((directory / script.name, text), (file, json.dumps(notebook(text), indent=1, ensure_ascii=False) + "\n")):
            with open(path, "x", encoding="utf-8") as out:
                out.write(content)
        written.append(file)
    return written
