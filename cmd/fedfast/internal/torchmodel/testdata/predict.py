"""Has modules that fedfast wrote predict, started by export_test.go.

    python predict.py FOLDER...

Each folder holds model.py, model.safetensors and input.json, {"x" or "tokens": values, "shape": [N, ...]}. The outputs go to outputs.f32;
then all parameters are moved, saved as moved.safetensors, and the outputs are moved.f32.
"""
import ctypes
import importlib.util
import json
import sys
from pathlib import Path

import torch

torch.set_num_threads(1)


def write(path, t):
    t = t.detach().contiguous()
    path.write_bytes(ctypes.string_at(t.data_ptr(), 4 * t.numel()))


for i, folder in enumerate(map(Path, sys.argv[1:])):
    spec = importlib.util.spec_from_file_location(f"model{i}", folder / "model.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    given = json.loads((folder / "input.json").read_text())
    kind = torch.long if given["tokens"] else torch.float32
    x = torch.tensor(given["values"], dtype=kind).reshape(given["shape"])
    model = module.load()
    write(folder / "outputs.f32", model(x))
    with torch.no_grad():
        for p in model.parameters():
            if p.requires_grad:
                p.mul_(0.97).add_(0.002)
    module.save(model, folder / "moved.safetensors")
    write(folder / "moved.f32", model(x))
