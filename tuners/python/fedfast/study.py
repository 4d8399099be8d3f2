"""A study or a training in a directory."""

from __future__ import annotations

import html
import json
import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Optional, Union

from . import program
from .figures import Figure, pick
from .net import Model
from .program import Progress

if TYPE_CHECKING:
    import pandas

    Table = Union[pandas.DataFrame, list[dict[str, Any]]]

FIGURES = ("history", "test", "loss")


class Directory:
    """What `run` or `tune` has written, in this process or in another one, which may still run."""

    path: Path

    def __repr__(self) -> str:
        return f"fedfast.{type(self).__name__}({str(self.path)!r})"

    def show(self) -> "dict[str, Any]":
        """Return what `fedfast study show --json` prints: the state, such as "running" or "completed", trials, finalists and models; of several
        seeds how many studies are finished, their summary, and each one's state and errors."""
        return program.ask("study", "show", str(self.path))  # type: ignore[no-any-return]

    def plot(self, name: Optional[str] = None) -> Figure:
        """Return a figure of the report, by default the history of scores, or of a training or several seeds the test error. fedfast.figures lists all."""
        return pick((self,), name, FIGURES)  # type: ignore[arg-type]


class Study(Directory):
    """A directory that `run` or `tune` has written, in this process or in another one, which may still run."""

    def __init__(self, path: "Union[str, os.PathLike[str]]"):
        self.path = Path(path).absolute()
        if not (self.path / "config.toml").exists():
            raise program.Error(f"{self.path} contains no study: it has no config.toml")

    def _repr_html_(self) -> str:
        shown = self.show()
        return summary(self, [f"{self.path.name}: {shown['state']}, {len(shown['trials'])} trials, {shown['rounds']} rounds.", *shown["answer"]], shown["warnings"])

    @property
    def result(self) -> "Optional[dict[str, Any]]":
        """The contents of result.json, None while the study is not finished."""
        try:
            text = (self.path / "result.json").read_text(encoding="utf-8")
        except FileNotFoundError:
            return None
        return json.loads(text)  # type: ignore[no-any-return]

    @property
    def finished(self) -> bool:
        return self.result is not None

    @property
    def best(self) -> "dict[str, Any]":
        """The returned model: a study's trial number, params and score, and the errors on the clients' validation and test samples. Those of a
        regression are root mean squared errors, which are there as "global_test_rmse" and so on, too."""
        result = self.result
        if result is None:
            raise program.Error(f"{self.path}: the study is not finished; resume it with fedfast.resume")
        best: "dict[str, Any]" = dict(result.get("best", result))
        if result.get("error_measure", best.get("error_measure")) == "rmse":
            best.update({k[: -len("error")] + "rmse": v for k, v in best.items() if k.endswith("_error")})
        return best

    @property
    def config(self) -> str:
        """The whole study file, as TOML."""
        return (self.path / "config.toml").read_text(encoding="utf-8")

    @property
    def model(self) -> Model:
        """The returned model: arrays by name; its method torch makes a PyTorch module."""
        return Model(self.path)

    @property
    def trials(self) -> "Table":
        """The table of trials."""
        return self.table("trials")

    def resume(self, *, progress: Progress = None) -> "Study":
        """Resume an interrupted study, and return it when it is finished."""
        program.call(["study", "resume", str(self.path), "--json"], progress)
        return self

    def events(self) -> "list[dict[str, Any]]":
        """Return the rounds, rungs and finalists so far, in the order in which they were recorded."""
        return list(Tail(self.path / "metrics.jsonl").new())

    def follow(self, poll: float = 0.5) -> "Iterator[dict[str, Any]]":
        """Yield the events of a study, those so far and those that come, until it has finished or no process runs it.

        poll is the time between two looks at the study, in seconds.
        """
        tail, checked = Tail(self.path / "metrics.jsonl"), time.monotonic()
        over = False
        while True:
            events = list(tail.new())
            yield from events
            if over:
                return
            if events:
                checked = time.monotonic()
            elif self.finished:
                over = True
                continue
            elif time.monotonic() - checked >= max(5 * poll, 2):
                checked = time.monotonic()
                over = self.show()["state"] != "running"
                continue
            time.sleep(poll)

    def table(self, name: str) -> "Table":
        """Return a table of the study: trials, rounds, rungs, curves, finalists, decisions, reports, sessions and others.

        It is a pandas.DataFrame if pandas is installed, read from Parquet if one of its engines is, and otherwise a list of dicts.
        """
        try:
            import pandas
        except ImportError:
            return self._rows(name)
        with tempfile.TemporaryDirectory() as directory:
            try:
                return pandas.read_parquet(self._export(name, "parquet", directory))
            except ImportError:  # no engine
                return pandas.DataFrame(self._rows(name))

    def _rows(self, name: str) -> "list[dict[str, Any]]":
        with tempfile.TemporaryDirectory() as directory, open(self._export(name, "jsonl", directory), encoding="utf-8") as file:
            return [json.loads(line) for line in file]

    def _export(self, table: str, form: str, directory: str) -> str:
        out = os.path.join(directory, f"{table}.{form}")
        program.call(["study", "export", str(self.path), "--table", table, "--format", form, "--out", out], progress=False)
        return out


def summary(study: Any, said: "list[str]", warnings: "list[str]") -> str:
    """Return what a notebook shows: the sentences of `fedfast study show --json`, and the first figure if there is one yet."""
    lines = "".join(f"<p>{html.escape(s)}</p>" for s in [*said, *(f"Warning: {w}." for w in warnings)])
    try:
        return lines + str(study.plot()._repr_html_())
    except program.Error:  # too early
        return lines


class Tail:
    """A file of JSON lines that may still grow."""

    def __init__(self, path: Path):
        self.path, self.read = path, 0

    def new(self) -> "Iterator[dict[str, Any]]":
        """Yield the lines that have been added since the last call."""
        try:
            with open(self.path, "rb") as file:
                file.seek(self.read)
                lines = file.readlines()
        except FileNotFoundError:
            return
        for line in lines:
            if not line.endswith(b"\n"):  # half-written
                return
            self.read += len(line)
            yield json.loads(line)
