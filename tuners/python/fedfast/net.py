"""Models: those of PyTorch as study files, and those that fedfast trained as arrays and as PyTorch modules."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from . import program

if TYPE_CHECKING:
    import torch

SCRIPT = """import sys
sys.path[:0] = {path!r}
import inspect
import torch
safe = {{"weights_only": False}} if "weights_only" in inspect.signature(torch.load).parameters else {{}}
net = torch.load({file!r}, map_location="cpu", **safe)
"""


class Model(Mapping[str, "np.ndarray[Any, Any]"]):
    """The tensors of a study's returned model by name, in PyTorch's layout. path is their file, in the format safetensors."""

    def __init__(self, study: Path):
        self.path = study / "model.safetensors"
        if not self.path.exists():
            raise program.Error(f"{study}: the study has no model yet; resume it with fedfast.resume")
        self._study = study
        self._tensors = read_safetensors(self.path)

    def __getitem__(self, name: str) -> "np.ndarray[Any, Any]":
        return self._tensors[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._tensors)

    def __len__(self) -> int:
        return len(self._tensors)

    def __repr__(self) -> str:
        return "\n".join(f"{name}: {'x'.join(map(str, t.shape))}" for name, t in self.items())

    def torch(self) -> "torch.nn.Module":
        """Return the model as a PyTorch module with its weights, in eval mode. The study's data must be where they were."""
        with tempfile.TemporaryDirectory() as directory:
            file = os.path.join(directory, "model.py")
            program.call(["model", "export", str(self._study), "--out", file], progress=False)
            spec = importlib.util.spec_from_file_location("fedfast_model", file)
            assert spec is not None and spec.loader is not None
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
        return module.load(self.path)  # type: ignore[no-any-return]


def import_module(module: "torch.nn.Module", form: str, directory: Path) -> Path:
    """Write a PyTorch module as a study file and weights into a directory, named after their contents, and return the study file's path.

    form is the shape of an input, as Arrays.form gives it. A module of a class that no file defines, as in a notebook, is traced by torch.fx.
    """
    import torch
    import torch.fx

    if not isinstance(module, torch.nn.Module):
        raise TypeError(f"model: must be a name, a list of layers or a torch.nn.Module, not {type(module).__name__}")
    text = f"{module}\n{form}\n" + "".join(f"{type(m).__module__}.{type(m).__qualname__}\n" for m in module.modules())
    if any(type(m).__module__ == "__main__" for m in module.modules()):
        try:
            traced = torch.fx.symbolic_trace(module)  # type: ignore[attr-defined,unused-ignore]
        except Exception as e:
            raise program.Error(f"{type(module).__name__} cannot be traced, and no file defines it; write it into a module: {str(e).splitlines()[0]}") from None
        traced.__class__.__name__ = type(module).__name__
        module, text = traced, text + traced.code
    digest = hashlib.sha256(text.encode())
    for name, tensor in module.state_dict().items():
        digest.update(f"{name} {tuple(tensor.shape)} ".encode() + tensor.detach().cpu().contiguous().numpy().tobytes())
    directory.mkdir(parents=True, exist_ok=True)
    output = directory / f"model-{digest.hexdigest()[:16]}"
    study = output.with_suffix(".toml")
    if study.exists():
        return study
    with tempfile.TemporaryDirectory() as temporary:
        file, script = os.path.join(temporary, "net.pt"), os.path.join(temporary, "net.py")
        torch.save(module, file)
        Path(script).write_text(SCRIPT.format(path=[os.path.abspath(p) for p in sys.path], file=file), encoding="utf-8")
        args = ["--class", "net", "--input", form, "--python", sys.executable, "--out", str(output)]
        program.call(["model", "import", script, *args], progress=False)
    return study


def read_safetensors(path: Path) -> "dict[str, np.ndarray[Any, Any]]":
    """Read the float32 tensors of a file that fedfast wrote."""
    raw = path.read_bytes()
    size = int.from_bytes(raw[:8], "little")
    if len(raw) < 8 or size > len(raw) - 8:
        raise program.Error(f"{path}: not a file of safetensors, or cut short")
    header, body, tensors = json.loads(raw[8 : 8 + size]), memoryview(raw)[8 + size :], {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        start, end = entry["data_offsets"]
        if entry["dtype"] != "F32" or end > len(body):
            raise program.Error(f"{path}: tensor {name} is not of float32, or cut short")
        tensors[name] = np.frombuffer(body[start:end], dtype="<f4").reshape(entry["shape"]).copy()
    return tensors
