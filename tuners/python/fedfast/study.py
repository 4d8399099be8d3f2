"""What a study or a training left behind."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Optional, Union

import numpy as np

from . import program

if TYPE_CHECKING:
    import pandas


class Study:
    """A folder that `run` or `tune` has written; it may still be at work.

    result is result.json as a dict, None while the study is not finished.
    """

    def __init__(self, path: "Union[str, os.PathLike[str]]", *, binary: "Union[str, os.PathLike[str], None]" = None):
        self.path = Path(path).absolute()
        if not (self.path / "config.toml").exists():
            raise program.Error(f"{self.path} holds no study: it has no config.toml")
        self._binary = binary

    def __repr__(self) -> str:
        return f"fedfast.Study({str(self.path)!r})"

    @property
    def result(self) -> Optional[dict[str, Any]]:
        try:
            text = (self.path / "result.json").read_text(encoding="utf-8")
        except FileNotFoundError:
            return None
        return json.loads(text)

    @property
    def finished(self) -> bool:
        return self.result is not None

    @property
    def best(self) -> dict[str, Any]:
        """The returned model: of a study its trial's number, params and score, and of both its errors on the clients' validation and test examples."""
        result = self.result
        if result is None:
            raise program.Error(f"{self.path}: the study is not finished; resume it with fedfast.resume")
        return result.get("best", result)

    @property
    def config(self) -> str:
        """The whole study file, as TOML."""
        return (self.path / "config.toml").read_text(encoding="utf-8")

    def events(self) -> list[dict[str, Any]]:
        """The rounds and rungs so far, as dicts in the order in which they were recorded."""
        try:
            lines = (self.path / "metrics.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
        except FileNotFoundError:
            return []
        return [json.loads(line) for line in lines if line.endswith("\n")]  # the last one may be half-written

    def table(self, name: str = "trials") -> "Union[pandas.DataFrame, list[dict[str, Any]]]":
        """A table of the study, such as trials, rounds, rungs, decisions, reports or sessions.

        It is a pandas.DataFrame, read from Parquet, where pandas and one of its Parquet engines are installed; a DataFrame made of JSON where
        only pandas is; and otherwise a list of dicts.
        """
        try:
            import pandas
        except ImportError:
            return self._rows(name)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, name + ".parquet")
            self._export(name, "parquet", path)
            try:
                return pandas.read_parquet(path)
            except ImportError:  # no engine
                return pandas.DataFrame(self._rows(name))

    def _rows(self, name: str) -> list[dict[str, Any]]:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, name + ".jsonl")
            self._export(name, "jsonl", path)
            with open(path, encoding="utf-8") as file:
                return [json.loads(line) for line in file]

    def _export(self, table: str, form: str, out: str) -> None:
        program.call(program.find(self._binary), ["study", "export", str(self.path), "--table", table, "--format", form, "--out", out])

    def model(self) -> dict[str, "np.ndarray[Any, Any]"]:
        """The returned model's tensors by name, in PyTorch's layout: `torch.from_numpy` makes a state dict of them."""
        return read_safetensors(self.path / "model.safetensors")


def read_safetensors(path: "Union[str, os.PathLike[str]]") -> dict[str, "np.ndarray[Any, Any]"]:
    """Read the float32 tensors of a file that fedfast wrote."""
    raw = Path(path).read_bytes()
    size = int.from_bytes(raw[:8], "little")
    if len(raw) < 8 or size > len(raw) - 8:
        raise program.Error(f"{os.fspath(path)}: no file of safetensors, or cut short")
    header, body, tensors = json.loads(raw[8 : 8 + size]), memoryview(raw)[8 + size :], {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        start, end = entry["data_offsets"]
        if entry["dtype"] != "F32" or end > len(body):
            raise program.Error(f"{os.fspath(path)}: tensor {name} is not of float32, or cut short")
        tensors[name] = np.frombuffer(body[start:end], dtype="<f4").reshape(entry["shape"]).copy()
    return tensors
