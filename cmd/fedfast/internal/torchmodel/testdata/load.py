"""Loads what fedfast trained into the modules that it was imported from, started by import_test.go.

    python load.py IMPORT.py JOBS.json

JOBS.json is as for rounds.py. Each job's out folder has model.safetensors and input.json; the outputs of the module's own class go to own.f32.
"""
import ctypes
import importlib.util
import json
import sys
from pathlib import Path

import torch

torch.set_num_threads(1)
spec = importlib.util.spec_from_file_location("tracer", sys.argv[1])
tracer = importlib.util.module_from_spec(spec)
spec.loader.exec_module(tracer)

for job in json.loads(Path(sys.argv[2]).read_text()):
    out, module = Path(job["out"]), tracer.find(job["script"], job["name"]).eval()
    raw = (out / "model.safetensors").read_bytes()
    size, state = 8 + int.from_bytes(raw[:8], "little"), {}
    for name, t in json.loads(raw[8:size]).items():
        if name != "__metadata__":
            start, end = t["data_offsets"]
            state[name] = torch.frombuffer(bytearray(raw[size + start:size + end]), dtype=torch.float32).reshape(t["shape"])
    module.load_state_dict(state)  # strict
    given = json.loads((out / "input.json").read_text())
    form = given["shape"][1:] if given["tokens"] else [int(n) for n in job["input"].split("x")]
    x = torch.tensor(given["values"], dtype=torch.long if given["tokens"] else torch.float32).reshape(given["shape"][0], *form)
    with torch.no_grad():
        y = module(x).contiguous()
    (out / "own.f32").write_bytes(ctypes.string_at(y.data_ptr(), 4 * y.numel()))
