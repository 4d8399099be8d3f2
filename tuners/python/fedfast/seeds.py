"""One configuration with several seeds."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Union

from . import program
from .study import Directory, Study, summary

FILE = "seeds.json"


class Seeds(Directory):
    """A directory of studies that differ only in their seed. They may still run."""

    def __init__(self, path: "Union[str, os.PathLike[str]]"):
        self.path = Path(path).absolute()
        if not holds_seeds(self.path):
            raise program.Error(f"{self.path} contains no studies of several seeds: it has no {FILE}")

    def _repr_html_(self) -> str:
        shown = self.show()
        return summary(self, [f"{self.path.name}: {shown['completed']} of {shown['seeds']} seeds completed.", *(shown["answer"] or [])], shown["warnings"])

    @property
    def summary(self) -> "dict[str, Any]":
        """Statistics of the finished studies: "rounds", "seconds" and "best_score", and the errors of the models "returned" and
        "last_survivor" by name. Each is a dict of n, mean, sd and half, half the width of the mean's 90 % interval by Student's t."""
        return self.show()["summary"]  # type: ignore[no-any-return]

    @property
    def studies(self) -> "list[Study]":
        """The studies that have begun, in the order of their seeds."""
        return [Study(self.path / Path(s["dir"]).name) for s in self.show()["studies"] if s["state"] != "not started"]

    @property
    def finished(self) -> bool:
        shown = self.show()
        return bool(shown["completed"] == shown["seeds"])


def holds_seeds(path: "Union[str, os.PathLike[str]]") -> bool:
    """Report whether a directory holds the studies of several seeds."""
    return (Path(path) / FILE).exists()
