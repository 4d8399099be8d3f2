"""Imports modules and trains each for a round of federated averaging, started by round_test.go.

    python rounds.py IMPORT.py JOBS.json

JOBS.json is a list of {"script", "name", "input", "out"}. What cannot be imported leaves out/error.txt; else there are import.py's files, and
data.json {"values", "labels", "sizes": examples of each client}, trained.f32 with the tensors of model.json after the round.
"""
import ctypes
import importlib.util
import json
import sys
from pathlib import Path

import torch
import torch.nn.functional as F

torch.set_num_threads(1)
spec = importlib.util.spec_from_file_location("tracer", sys.argv[1])
tracer = importlib.util.module_from_spec(spec)
spec.loader.exec_module(tracer)

SIZES, LR, EPOCHS = [5, 3], 0.05, 3


def write(path, t):
    t = t.detach().float().contiguous()
    path.write_bytes(ctypes.string_at(t.data_ptr(), 4 * t.numel()))


def train(job, x, labels):
    """The mean of the clients' weights, by their numbers of examples."""
    mean = None
    for i, size in enumerate(SIZES):
        torch.manual_seed(0)
        model = tracer.find(job["script"], job["name"]).train()
        part = slice(sum(SIZES[:i]), sum(SIZES[:i + 1]))
        optimizer = torch.optim.SGD(model.parameters(), lr=LR, momentum=0.9)
        for _ in range(EPOCHS):
            optimizer.zero_grad()
            F.cross_entropy(model(x[part]), labels[part]).backward()
            optimizer.step()
        share = size / sum(SIZES)
        state = {name: p.detach().double() * share for name, p in model.state_dict().items()}
        mean = state if mean is None else {name: mean[name] + p for name, p in state.items()}
    return mean


for job in json.loads(Path(sys.argv[2]).read_text()):
    out = Path(job["out"])
    try:
        tracer.main(job["script"], job["name"], job["input"], "", out)
    except tracer.Unknown as e:
        (out / "error.txt").write_text(str(e))
        continue
    made = json.loads((out / "model.json").read_text())
    torch.manual_seed(7)
    shape = [sum(SIZES)] + made["shape"][1:]
    x = torch.randint(1, made["vocab"], shape) if made["tokens"] else torch.rand(shape) - 0.5
    if made["tokens"]:
        x[1:3, -3:] = 0  # padding
    labels = torch.randint(0, made["classes"], (shape[0],))
    form = [] if made["tokens"] else [int(n) for n in job["input"].split("x")]  # what the module itself reads
    state = train(job, x.reshape(len(x), *form) if form else x, labels)
    with open(out / "trained.f32", "wb") as f:
        for t in filter(lambda t: t["name"] in state, made["tensors"]):
            p = state[t["name"]].float().contiguous()
            f.write(ctypes.string_at(p.data_ptr(), 4 * p.numel()))
    (out / "data.json").write_text(json.dumps({"values": x.flatten().tolist(), "labels": labels.tolist(), "sizes": SIZES}))
