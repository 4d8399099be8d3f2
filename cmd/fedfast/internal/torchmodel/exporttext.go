package torchmodel

// exportHead, exportModel and exportLoad are the parts of the Python file.
const exportHead = `"""The network %s of fedfast in PyTorch: load() gives it with its weights.

Its parameters have the names and shapes that fedfast gives them, so that what is
trained here goes back with save() and fedfast's --init.
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


def load(path=WEIGHTS):
    """The network with the weights of a safetensors file, ready to predict."""
    data = Path(path).read_bytes()
    size, = struct.unpack("<Q", data[:8])
    tensors = {}
    for name, t in json.loads(data[8:8 + size]).items():
        if name != "__metadata__":
            start, end = t["data_offsets"]
            values = torch.frombuffer(bytearray(data[8 + size + start:8 + size + end]), dtype=torch.float32)
            tensors[name] = values.reshape(t["shape"])
    model = Model()
    missing, unknown = model.load_state_dict(tensors, strict=False)
    missing = [name for name in missing if model.get_parameter(name).requires_grad]
    if missing or unknown:
        raise ValueError(f"{path}: missing tensors {missing}, unknown tensors {unknown}")
    return model.eval()


def save(model, path):
    """Writes the weights for fedfast's --init."""
    header, parts, end = {}, [], 0
    for name, p in model.named_parameters():
        if p.requires_grad:
            p = p.detach().float().cpu().contiguous()
            values = ctypes.string_at(p.data_ptr(), 4 * p.numel())
            header[name] = {"dtype": "F32", "shape": list(p.shape), "data_offsets": [end, end + len(values)]}
            parts.append(values)
            end += len(values)
    text = json.dumps(header).encode()
    Path(path).write_bytes(struct.pack("<Q", len(text)) + text + b"".join(parts))


if __name__ == "__main__":
    print(load())
`

// helpers are what some networks need besides PyTorch's modules.
var helpers = []struct{ name, code string }{
	{"put", `
def put(module, name, child):
    """Adds a child below a name with dots."""
    *path, last = name.split(".")
    for part in path:
        if part not in module._modules:
            module.add_module(part, nn.Module())
        module = module._modules[part]
    module.add_module(last, child)
`},
	{"rows", `
def rows(norm, x):
    """Normalizes the channels of each pixel."""
    return norm(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)
`},
	{"RMSNorm", `
class RMSNorm(nn.Module):
    def __init__(self, size, eps):
        super().__init__()
        self.weight, self.eps = nn.Parameter(torch.ones(size)), eps

    def forward(self, x):
        return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + self.eps) * self.weight
`},
	{"Squeeze", `
class Squeeze(nn.Module):
    """Squeeze-and-excitation."""

    def __init__(self, size, units):
        super().__init__()
        self.fc1, self.fc2 = nn.Conv2d(size, units, 1), nn.Conv2d(units, size, 1)

    def forward(self, x):
        return x * F.hardsigmoid(self.fc2(F.relu(self.fc1(x.mean((2, 3), keepdim=True)))))
`},
	{"Shares", `
class Shares(nn.Module):
    """The shares of what is mixed."""

    def __init__(self, size):
        super().__init__()
        self.alpha = nn.Parameter(torch.zeros(size))

    def forward(self):
        return torch.softmax(self.alpha, 0)
`},
	{"ClassToken", `
class ClassToken(nn.Module):
    """Puts a learned vector before the steps of a sequence."""

    def __init__(self, size):
        super().__init__()
        self.class_token = nn.Parameter(torch.zeros(1, 1, size))

    def forward(self, x):
        return torch.cat((self.class_token.expand(x.shape[0], -1, -1), x), 1)
`},
	{"Positions", `
class Positions(nn.Module):
    """Adds a learned vector to each step of a sequence."""

    def __init__(self, steps, size):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(steps, size))

    def forward(self, x):
        return x + self.weight
`},
	{"OneBiasLSTM", `
class OneBiasLSTM(nn.LSTM):
    """An LSTM whose second biases stay 0."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        for i in range(self.num_layers):
            nn.init.zeros_(getattr(self, f"bias_hh_l{i}")).requires_grad_(False)
`},
	{"Attention", `
class Attention(nn.MultiheadAttention):
    """Self-attention, of each step to itself and those before if causal."""

    def __init__(self, size, heads, causal=False):
        super().__init__(size, heads, batch_first=True)
        self.causal = causal

    def forward(self, x, padding=None):
        mask = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool, device=x.device).triu(1) if self.causal else None
        return super().forward(x, x, x, key_padding_mask=padding, attn_mask=mask, need_weights=False)[0]
`},
}
