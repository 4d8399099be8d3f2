package torchmodel

// exportHead, exportModel and exportLoad are the parts of the Python file.
const exportHead = `"""The network %s of fedfast in PyTorch: load() gives it with its weights.

Its parameters have the names and shapes that fedfast gives them; what is trained
here goes back with save() and fedfast's --init.
"""
import ctypes
import json
import struct
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn
`

const exportModel = `

class Model(nn.Module):
    """Reads %s; gives %s."""

    def __init__(self):
        super().__init__()
%s
    def forward(self, x):
%s        return %s
`

const exportLoad = `

WEIGHTS = Path(__file__).resolve().parent / %s
# The names and shapes of parameters in the file, where they have others there.
FILES = {
%s}


def tensors(path=WEIGHTS):
    """The tensors of a safetensors file by their names in it."""
    data = Path(path).read_bytes()
    size, = struct.unpack("<Q", data[:8])
    found = {}
    for name, t in json.loads(data[8:8 + size]).items():
        if name != "__metadata__":
            start, end = t["data_offsets"]
            values = torch.frombuffer(bytearray(data[8 + size + start:8 + size + end]), dtype=torch.float32)
            found[name] = values.reshape(t["shape"])
    return found


def load(path=WEIGHTS):
    """The network with the weights of a safetensors file, ready to predict."""
    model, names = Model(), {file: name for name, (file, _) in FILES.items()}
    state = {names.get(file, file): t for file, t in tensors(path).items()}
    for name in FILES.keys() & state.keys():
        state[name] = state[name].reshape(model.state_dict()[name].shape)
    missing, unknown = model.load_state_dict(state, strict=False)
    missing = [name for name in missing if model.get_parameter(name).requires_grad]
    if missing or unknown:
        raise ValueError(f"{path}: missing tensors {missing}, unknown tensors {unknown}")
    return model.eval()


def save(model, path):
    """Writes the weights for fedfast's --init."""
    header, parts, end = {}, [], 0
    tensors = [(name, p) for name, p in model.named_parameters() if p.requires_grad]
    for name, b in model.named_buffers():
        if not name.endswith("num_batches_tracked") or model.get_submodule(name.rpartition(".")[0]).momentum is None:
            tensors.append((name, b))
    for name, t in tensors:
        name, shape = FILES.get(name, (name, None))
        t = t.detach().float().cpu().contiguous()
        values = ctypes.string_at(t.data_ptr(), 4 * t.numel())
        header[name] = {"dtype": "F32", "shape": list(shape or t.shape), "data_offsets": [end, end + len(values)]}
        parts.append(values)
        end += len(values)
    text = json.dumps(header).encode()
    Path(path).write_bytes(struct.pack("<Q", len(text)) + text + b"".join(parts))


if __name__ == "__main__":
    print(load())
`

// put and shares are what some networks need besides PyTorch's modules.
const (
	put = `
def put(module, name, child):
    """Adds a child below a name with dots."""
    *path, last = name.split(".")
    for part in path:
        if part not in module._modules:
            module.add_module(part, nn.Module())
        module = module._modules[part]
    module.add_module(last, child)
`

	shares = `
class Shares(nn.Module):
    """The shares of what is mixed."""

    def __init__(self, size):
        super().__init__()
        self.alpha = nn.Parameter(torch.zeros(size))

    def forward(self):
        return torch.softmax(self.alpha, 0)
`
)
