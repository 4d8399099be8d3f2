"""What one configuration left behind with several seeds."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Union

from . import program
from .study import Study

FILE = "seeds.json"


class Seeds:
    """A folder of studies that differ in their seed only; they may still be at work."""

    def __init__(self, path: "Union[str, os.PathLike[str]]", *, binary: "Union[str, os.PathLike[str], None]" = None):
        self.path = Path(path).absolute()
        if not holds_seeds(self.path):
            raise program.Error(f"{self.path} holds no studies of several seeds: it has no {FILE}")
        self._binary = binary

    def __repr__(self) -> str:
        return f"fedfast.Seeds({str(self.path)!r})"

    def show(self) -> dict[str, Any]:
        """What the program tells of all studies: how many are finished, the summary, and each one's state, errors and checksums."""
        return json.loads(program.call(program.find(self._binary), ["study", "show", str(self.path), "--json"]))

    @property
    def summary(self) -> dict[str, Any]:
        """Sums of the finished studies: "rounds", "seconds" and "best_score", and by their names the errors of the models "returned" and
        "last_survivor". Each is a dict of n, mean, sd and half, half the width of the mean's 90 % interval by Student's t."""
        return self.show()["summary"]

    @property
    def studies(self) -> list[Study]:
        """The studies that have begun, in the order of their seeds."""
        return [Study(self.path / Path(s["dir"]).name, binary=self._binary) for s in self.show()["studies"] if s["state"] != "not begun"]

    @property
    def finished(self) -> bool:
        shown = self.show()
        return shown["completed"] == shown["seeds"]


def holds_seeds(path: "Union[str, os.PathLike[str]]") -> bool:
    """Tell whether a folder holds the studies of several seeds."""
    return (Path(path) / FILE).exists()
