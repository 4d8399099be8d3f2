"""Writes a PyTorch module down as layers of fedfast. fedfast model import runs it:

    python import.py SCRIPT NAME INPUT WEIGHTS OUT

NAME is a class, a function, an instance or a call in the script, or empty; INPUT is 3x32x32, 9x128, 784 or 80tokens; WEIGHTS is a file of
torch.save or empty. OUT is a folder, in which layers.json lists what is a layer by itself: [{"type", "module": the name of a class, "function",
"attributes": of a module, by the layer's keys, or by its options}]. It gets

    model.json   {"name", "layers": a table of [[model.layers]] each, "tensors": name, shape and first value of each, "classes", "notes",
                 "tokens": whether the input is, "shape", of an image four numbers, and "values" of an input, "outputs": what the module predicts for it,
                 "log_softmax": whether these are logarithms of probabilities}
    weights.f32  the values of the tensors, little-endian

The module is traced by torch.fx with a real input, so that shapes are numbers and what does not depend on the input is computed. Each step
becomes a layer. What has no layer ends the import with one line on stderr and exit status 3.
"""
import ctypes
import importlib.util
import inspect
import json
import operator
import pickle
import re
import sys
import traceback
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import fx, nn
from torch.overrides import TorchFunctionMode

SAMPLES = 3

# The layers that are modules, and those that are functions, by their names.
LAYERS, FUNCTIONS = {}, {}


class Unknown(Exception):
    """What cannot be imported, in one line."""


# Tracing with a real input.


class Value(fx.Proxy):
    """A proxy that knows the tensor which it stands for."""

    @property
    def tensor(self):
        return self.node.meta["val"]

    shape = property(lambda self: self.tensor.shape)
    dtype = property(lambda self: self.tensor.dtype)
    device = property(lambda self: self.tensor.device)
    ndim = property(lambda self: self.tensor.ndim)

    def __len__(self):
        return len(self.tensor)

    def __iter__(self):
        return iter([self[i] for i in range(len(self.tensor))])


def step_of_its_own(function):
    """A function that torch.fx sees as one step."""
    def call(*args, **kwargs):
        proxy = next((v for v in leaves((args, kwargs)) if isinstance(v, Value)), None)
        return function(*args, **kwargs) if proxy is None else proxy.tracer.create_proxy("call_function", function, args, kwargs)
    return call


nn.utils.rnn.pack_padded_sequence = step_of_its_own(nn.utils.rnn.pack_padded_sequence)
nn.utils.rnn.pad_packed_sequence = step_of_its_own(nn.utils.rnn.pad_packed_sequence)


class Tracer(fx.Tracer):
    def __init__(self, example):
        super().__init__()
        self.example, self.computing = example, False

    def is_leaf_module(self, m, name):
        return registered(m) is not None or super().is_leaf_module(m, name)

    def call_module(self, m, forward, args, kwargs):
        within = any(m is known for known in self.root.modules())
        if not within and m.state_dict():
            raise Unknown(f"forward makes {kind(m)}, whose weights are new each time; make it in __init__")
        return super().call_module(m, forward, args, kwargs) if within and not self.computing else forward(*args, **kwargs)

    def getattr(self, attr, value, cache):
        return value if self.computing else super().getattr(attr, value, cache)

    def proxy(self, node):
        return Value(node, self)

    def value(self, node):
        if "val" not in node.meta:  # a constant tensor
            node.meta["val"] = attribute(self.root, node.target)
        return node.meta["val"]

    def create_proxy(self, kind, target, args, kwargs, *rest, **more):
        proxy = super().create_proxy(kind, target, args, kwargs, *rest, **more)
        files = ((f.f_code.co_filename, line) for f, line in traceback.walk_stack(sys._getframe()))
        proxy.node.meta["line"] = next((line for file, line in files if file != __file__ and "/torch/" not in file), 0)
        if kind == "output":
            return proxy
        self.computing = True
        try:
            value = proxy.node.meta["val"] = self.compute(proxy.node)
        finally:
            self.computing = False
        return proxy if isinstance(value, (torch.Tensor, tuple, list)) and not isinstance(value, torch.Size) else value

    def compute(self, node):
        """What a step gives for the example."""
        args, kwargs = (fx.node.map_arg(a, self.value) for a in (node.args, node.kwargs))
        if node.op == "placeholder":
            return node.args[0] if node.args else self.example
        if node.op == "get_attr":
            return attribute(self.root, node.target)
        if node.op == "call_module":
            return self.root.get_submodule(node.target)(*args, **kwargs)
        if node.op == "call_method":
            return getattr(args[0], node.target)(*args[1:], **kwargs)
        return node.target(*args, **kwargs)


def attribute(module, path):
    for part in path.split("."):
        module = getattr(module, part)
    return module


# What values are.


class Feature:
    """What a layer gives. dims names its dimensions: N samples, C channels, H rows, W columns, T steps, P pixels, L pixels of an image of one row, 1
    that row, F the values of a flattened image, and G groups of D channels each."""

    def __init__(self, layer, dims, sizes):
        self.layer, self.dims, self.sizes = layer, dims, dict(zip(dims, sizes))

    shape = property(lambda self: tuple(self.sizes.values()))

    def view(self, dims, tensor):
        return Feature(self.layer, dims, tensor.shape)


class Const:
    """What does not depend on the input; origin is the parameter or module that it is made of."""

    def __init__(self, tensor, origin=None):
        self.tensor, self.origin = tensor, origin


class Tokens:
    pass


class Padding:
    """Which tokens are 0."""


class Real:
    """Which tokens are not 0, or how many of each sample."""

    def __init__(self, counted=False):
        self.counted = counted


class Packed:
    """A sequence without its padding."""

    def __init__(self, every):
        self.every = every


class Padded(Packed):
    """A sequence with zeros after its end."""


MEAN = "of what is masked there is the mean of its steps, (x * mask).sum(1) / mask.sum(1)"


class Masked:
    """A sequence with zeros for its padding, or the sum of its steps."""

    def __init__(self, every, summed=False):
        self.every, self.summed = every, summed


class Order:
    """Indices of the samples by the lengths of their texts; back are those that undo it."""

    def __init__(self, back=False):
        self.back = back


class Ends:
    """Which step of each sample is the last one that is not padding."""


class Importer:
    def __init__(self, model, example):
        self.model, self.example = model, example
        self.layers, self.params, self.notes, self.used, self.env = [], {}, [], {}, {}
        self.log_softmax = self.sorted = False
        self.seeing = ""

    # Layers.

    def emit(self, spec, inputs, dims, tensor, name=None, **params):
        """Adds a layer that reads features, without options of None or False, and returns what it gives."""
        name = self.name(name, spec["type"])
        spec = {key: v for key, v in spec.items() if v is not None and v is not False}
        self.layers.append((dict(spec, name=name), [f.layer for f in inputs]))
        for key, value in params.items():
            if value is not None:
                if self.used.setdefault(id(value), at := f"{name}.{key}") != at and isinstance(value, nn.Parameter):
                    raise Unknown(f"{self.seeing} shares its {key} with {self.used[id(value)]}; an nn.Linear with bias=False can share that of the embedding, and no others can")
                self.params[name, key.replace("__", ".")] = value.detach().float()
        return Feature(name, dims, tensor.shape)

    def name(self, wish, kind):
        if wish is None:
            n = 1
            while self.taken(f"{kind}{n}"):
                n += 1
            return f"{kind}{n}"
        wish = re.sub(r"[^A-Za-z0-9_.-]", "_", wish)
        if not re.match(r"[A-Za-z_]", wish):
            wish = "layer" + wish
        while self.taken(wish):
            wish += "_"
        return wish

    def taken(self, name):
        return name == "input" or any(spec["name"] == name for spec, _ in self.layers)

    def once(self, module, name):
        """A module's parameters are one layer's."""
        if id(module) in self.used:
            raise Unknown(f"{self.seeing} is used twice, and layers share no weights; make two modules of it")
        self.used[id(module)] = name

    def shape(self):
        """The form of the input, of an image with its channels, rows and columns."""
        shape = list(getattr(self, "example_shape", self.example.shape))
        return shape[:2] + [1] + shape[2:] if len(shape) == 3 else shape

    # The walk.

    def run(self):
        tracer = Tracer(self.example)
        try:
            with torch.no_grad():
                graph = tracer.trace(self.model)
        except fx.proxy.TraceError as e:
            raise Unknown(f"torch.fx cannot trace {type(self.model).__name__}: {one_line(e)}")
        inputs = [n for n in graph.nodes if n.op == "placeholder"]
        if len(inputs) != 1:
            given = [n.target for n in inputs[1:] if not n.args]
            if given:
                raise Unknown(f"forward takes {len(inputs)} inputs ({', '.join(n.target for n in inputs)}); a network has one")
        self.value = tracer.value
        for i, node in enumerate(graph.nodes):
            if node.op == "output":
                return self.output(node.args[0])
            if node.op == "placeholder":
                if node is not inputs[0]:
                    self.env[node] = Const(node.args[0]) if node.args else None
                elif self.example.dtype == torch.long:
                    self.env[node] = Tokens()
                else:
                    self.env[node] = Feature("input", {2: "NC", 3: "NCL", 4: "NCHW"}[self.example.dim()], self.example.shape)
            else:
                self.env[node] = self.step(node)
        raise Unknown("the module returns nothing")

    def output(self, node):
        result = self.env.get(node)
        if isinstance(result, Ramp):
            raise Unknown("the module adds a constant to its outputs, which no layer supports")
        if not isinstance(result, Feature):
            raise Unknown("the module must return one tensor, of an output for each class")
        if self.sorted:
            raise Unknown("the module sorts the samples by length and returns them so; undo it, or pack with enforce_sorted=False")
        if result.dims == "NCT":
            self.transposed = True
        elif result.dims not in ("NC", "NTC"):
            raise Unknown(f"the module returns a tensor of shape {tuple(result.sizes.values())}; a network ends with an output for each class, from a linear layer")
        self.last = result
        return result

    def step(self, node):
        if node.op == "get_attr":
            return Const(self.value(node), node.target)
        out = node.meta.get("val")
        if not isinstance(out, (torch.Tensor, tuple, list)) or isinstance(out, torch.Size):
            return Const(out)
        args = fx.node.map_arg(node.args, lambda n: self.env[n])
        kwargs = fx.node.map_arg(node.kwargs, lambda n: self.env[n])
        if node.op == "call_module":
            module = self.model.get_submodule(node.target)
            self.seeing = f'module "{node.target}" ({kind(module)})'
        else:
            name = node.target if isinstance(node.target, str) else getattr(node.target, "__name__", str(node.target))
            self.seeing = f"function {name}"
            self.at(node)
        given = leaves((args, kwargs))
        if any(v is CELL for v in (*args, *kwargs.values())):
            raise Unknown(f"{self.seeing} reads the cell state of an LSTM, which no layer gives; read the hidden state, h of (h, c), or the outputs")
        if not any(v is CELL or isinstance(v, (Feature, Tokens, Padding, LastStates, Ramp, Real, Packed, Masked, Order, Ends)) for v in given):
            return self.constant(node, args, kwargs, out)
        if any(isinstance(v, Padded) for v in given) and not isinstance(args[0], list) and not any(isinstance(v, Ends) for v in given):
            raise Unknown(f"{self.seeing} reads what pad_packed_sequence gives, which has zeros after each end; of a packed sequence there is the last state, h[-1]")
        if node.op == "call_module":
            return self.module(module, node.target, args, kwargs, out)
        if isinstance(out, tuple) and any(isinstance(v, Feature) for v in leaves((args, kwargs))) and name not in ("getitem", "chunk", "split", "tensor_split", "max", "pack_padded_sequence"):
            raise self.unknown()
        return self.function(name.rstrip("_") if not name.startswith("_") else name, args, kwargs, out)

    def at(self, node):
        """Says where a function is called: the module, where torch.fx knows, and the line."""
        where = list(node.meta.get("nn_module_stack") or [""])[-1]
        self.seeing += (f' in module "{where}"' if where else "") + f" (line {node.meta['line']})"

    def constant(self, node, args, kwargs, out):
        origins = [v.origin for v in leaves((args, kwargs)) if isinstance(v, Const) and v.origin]
        if node.op == "call_module":
            if any(True for _ in self.model.get_submodule(node.target).parameters()):
                origins = [node.target]
        return Const(out, origins[0] if origins else None)

    def unknown(self, advice=""):
        return Unknown(f"{self.seeing} is not supported as a layer" + (f"; {advice}" if advice else ", see fedfast list layers"))

    # Modules.

    def module(self, m, name, args, kwargs, out):
        x = args[0] if args else next(iter(kwargs.values()))
        if isinstance(m, nn.Embedding) and isinstance(x, Tokens):
            return self.embedding(m, name, out)
        if isinstance(m, nn.MultiheadAttention):
            return [self.multihead(m, name, args, kwargs, out[0]), None]
        if isinstance(m, (nn.TransformerEncoderLayer, nn.TransformerEncoder)):
            return self.transformer(m, name, args, kwargs, out)
        if isinstance(m, nn.ReLU6) and isinstance(x, Ramp):
            return self.function("relu6", [x], {}, out)
        if not isinstance(x, Feature) and not (isinstance(x, Packed) and isinstance(m, (nn.LSTM, nn.GRU))):
            raise self.unknown(MEAN if isinstance(x, Masked) else "")
        if isinstance(m, (nn.LSTM, nn.GRU)):
            return self.recurrent(m, name, args, kwargs, out)
        if isinstance(m, nn.Linear):
            return self.linear(m, name, x, out)
        if isinstance(m, (nn.Conv1d, nn.Conv2d)):
            return self.conv(m, name, x, out)
        if isinstance(m, nn.Identity):
            return x
        if isinstance(m, nn.Flatten):
            return self.reshape(x, out)
        if isinstance(m, nn.GroupNorm):
            x = self.image(x, "NCHW", "NCL")
            self.once(m, name)
            spec = {"type": "groupnorm", "groups": m.num_groups, "no_affine": not m.affine}
            return self.emit(self.eps(m, spec, 1e-5), [x], x.dims, out, name, weight=m.weight, bias=m.bias)
        if isinstance(m, (nn.BatchNorm1d, nn.BatchNorm2d, nn.SyncBatchNorm)):
            return self.batchnorm(m, name, x, out)
        if isinstance(m, nn.LayerNorm) or type(m).__name__ == "RMSNorm" and type(m).__module__.startswith("torch.nn"):
            return self.rownorm(m, name, x, out)
        if registered(m):
            return self.registered(registered(m), m, name, x, out)
        if type(m) in MODULES and isinstance(out, torch.Tensor):
            function, keys = MODULES[type(m)]
            return self.function(function, [x], {k: getattr(m, k) for k in keys}, out)
        raise self.unknown(ADVICE.get(type(m).__name__, ""))

    def registered(self, own, m, name, x, out):
        if list(out.shape) != [x.sizes[d] for d in x.dims]:
            raise Unknown(f"{self.seeing} changes the shape, which layers of type {own['type']} do not")
        options = {option: getattr(m, attribute) for option, attribute in (own["attributes"] or {}).items()}
        spec = {"type": own["type"], **({"options": options} if own["options"] and options else options)}
        if not m.state_dict():
            return self.emit(spec, [x], x.dims, out)
        self.once(m, name)
        return self.emit(spec, [x], x.dims, out, name, **{n.replace(".", "__"): p for n, p in m.named_parameters()})

    def affine(self, m, weight):
        if weight is None or getattr(m, "bias", weight) is None:
            raise Unknown(f"{self.seeing} has no weights; leave out elementwise_affine=False, affine=False and bias=False")

    def eps(self, m, spec, default):
        """The layer with the module's eps, unless that is fedfast's."""
        return spec if m.eps is None or m.eps == default else dict(spec, eps=m.eps)

    def batchnorm(self, m, name, x, out):
        if m.running_mean is None:
            raise Unknown(f"{self.seeing} has no running statistics; leave out track_running_stats=False")
        self.wants(x, "NCHW", "NCL", "NC", "NCT", "NCP")
        spec = {"type": "batchnorm", "cumulative": m.momentum is None, "momentum": None if m.momentum == 0.1 else m.momentum, "no_affine": not m.affine}
        self.once(m, name)
        return self.emit(self.eps(m, spec, 1e-5), [x], x.dims, out, name, weight=m.weight, bias=m.bias, running_mean=m.running_mean, running_var=m.running_var,
                         num_batches_tracked=m.num_batches_tracked if m.momentum is None else None)

    def rownorm(self, m, name, x, out):
        rms = type(m).__name__ == "RMSNorm"
        if len(m.normalized_shape) != 1 or x.dims[-1] != "C":
            raise Unknown(f"{self.seeing} normalizes {tuple(m.normalized_shape)} of a tensor of shape {tuple(out.shape)}; fedfast normalizes the channels of each step, pixel or vector")
        self.affine(m, m.weight)
        self.once(m, name)
        return self.emit(self.eps(m, {"type": "rmsnorm" if rms else "layernorm"}, 2.0 ** -23 if rms else 1e-5), [x], x.dims, out, name, weight=m.weight, bias=None if rms else m.bias)

    def wants(self, x, *forms):
        if not isinstance(x, Feature) or x.dims not in forms:
            form = "x".join(x.dims) if isinstance(x, Feature) else "a constant"
            raise Unknown(f"{self.seeing} reads {form}; it must be one of " + ", ".join("x".join(f) for f in forms) + " (N samples, C channels, H rows, W columns, T steps)")

    def embedding(self, m, name, out):
        if m.padding_idx not in (None, 0) or m.max_norm is not None or m.scale_grad_by_freq or m.sparse:
            raise Unknown(f"{self.seeing}: padding_idx must be 0 or None, and max_norm, scale_grad_by_freq and sparse unset")
        self.once(m, name)
        self.table, self.vocab = m.weight, m.num_embeddings
        return self.emit({"type": "embedding", "size": m.embedding_dim, "zero_padding": m.padding_idx == 0}, [], "NTC", out, name, weight=m.weight)

    def linear(self, m, name, x, out):
        self.wants(x, "NC", "NTC", "TNC", "NF")
        if getattr(self, "table", None) is m.weight and m.bias is None:
            return self.emit({"type": "tied"}, [x], x.dims, out)
        self.once(m, name)
        return self.emit({"type": "dense", "units": m.out_features, "no_bias": m.bias is None}, [x], "NC" if x.dims == "NF" else x.dims, out, name, weight=m.weight, bias=m.bias)

    def image(self, x, *forms):
        """The steps of a sequence as the pixels of an image of one row, where they are read as such."""
        if isinstance(x, Feature) and x.dims == "NCT" and "NCL" in forms:
            return self.emit({"type": "image"}, [x], "NCL", x)
        self.wants(x, *forms)
        return x

    def sides(self, value, x):
        """Rows and columns of a window or a step; an image of one row has one row of it."""
        values = list(value) if isinstance(value, (tuple, list)) else [value]
        if x.dims == "NCL":
            return 1, values[0]
        return (values * 2)[:2]

    def stride(self, value, x, out):
        """The one stride: where there is one row, or one column, of outputs it does not matter."""
        rows, columns = self.sides(value, x)
        if rows != columns and x.dims == "NCHW" and 1 not in out.shape[2:]:
            raise Unknown(f"{self.seeing} has stride={tuple(value)}; rows and columns must have the same")
        return columns if x.dims == "NCL" or out.shape[2] == 1 else rows

    def padded(self, window, value, x):
        """The one padding, which counts only along sides on which the window is larger than 1."""
        pads = self.sides(value, x)
        used = {p for p, n in zip(pads, window) if n > 1}
        if any(p for p, n in zip(pads, window) if n == 1) and x.dims == "NCHW" or len(used) > 1:
            raise Unknown(f"{self.seeing} has padding={value}; it must be the same on all sides, and 0 along a side on which the window is 1")
        return used.pop() if used else 0

    def window(self, spec, key, sides):
        """Puts the rows and columns of a window into a layer."""
        spec[key] = sides[0]
        if sides[1] != sides[0]:
            spec["width"] = sides[1]

    def conv(self, m, name, x, out):
        x = self.image(x, "NCL" if isinstance(m, nn.Conv1d) else "NCHW")
        if m.padding_mode != "zeros":
            raise Unknown(f"{self.seeing} has padding_mode={m.padding_mode!r}; fedfast pads with zeros")
        kernel, stride, dilation = self.sides(m.kernel_size, x), self.stride(m.stride, x, out), self.one(m.dilation, "dilation")
        spec = {"type": "conv", "filters": m.out_channels}
        self.window(spec, "kernel", kernel)
        if m.groups == m.in_channels == m.out_channels and m.groups > 1 and kernel[0] == kernel[1]:
            spec = {"type": "depthwise", "kernel": kernel[0]}
        elif m.groups > 1:
            spec["groups"] = m.groups
        if m.padding == "same":
            if stride == 1:
                spec["padding"] = "same"
        elif m.padding != "valid" and self.padded(kernel, m.padding, x):
            spec["pad"] = self.padded(kernel, m.padding, x)
        spec.update(stride=stride if stride > 1 else None, dilation=dilation if dilation > 1 else None, no_bias=m.bias is None)
        self.once(m, name)
        return self.emit(spec, [x], x.dims, out, name, weight=m.weight.unsqueeze(2) if x.dims == "NCL" else m.weight, bias=m.bias)

    def one(self, value, key):
        values = set(value) if isinstance(value, (tuple, list)) else {value}
        if len(values) != 1:
            raise Unknown(f"{self.seeing} has {key}={value}; rows and columns must have the same")
        return values.pop()

    def recurrent(self, m, name, args, kwargs, out):
        x, lstm = args[0], isinstance(m, nn.LSTM)
        packed = isinstance(x, Packed)
        if packed and m.bidirectional:
            raise Unknown(f"{self.seeing} reads a packed sequence in two directions; of packed sequences there is one direction")
        if packed:
            x = x.every
            out = (torch.empty(*x.shape[:2], m.hidden_size),)
        else:
            self.wants(x, "NTC" if m.batch_first else "TNC")
        if not m.bias or getattr(m, "proj_size", 0):
            raise Unknown(f"{self.seeing}: bias=False and proj_size have no layer")
        states = leaves((args[1:], kwargs))
        if any(isinstance(v, (Feature, LastStates)) or isinstance(v, Const) and isinstance(v.tensor, torch.Tensor) and bool(v.tensor.any()) for v in states):
            raise Unknown(f"{self.seeing} starts from a state that is not 0")
        self.once(m, name)
        if m.bidirectional or m.num_layers > 1 and not lstm:
            return self.stacked(m, name, x, out, packed)
        spec = {"type": "lstm" if lstm else "gru", "hidden": m.hidden_size, "output": "every"}
        if m.num_layers > 1:
            spec.update(layers=m.num_layers, rate=m.dropout or None)
        every = self.emit(spec, [x], x.dims, out[0], name, **dict(m.named_parameters()))
        last = LastStates([None] * (m.num_layers - 1) + [every], packed)
        return [Packed(every) if packed else every, [last, CELL] if lstm else last]

    def stacked(self, m, name, x, out, packed):
        """A GRU of several layers, each a layer of its own; and each direction of a GRU or LSTM that has two of them."""
        lstm, last = isinstance(m, nn.LSTM), []
        steps = out[0][..., :m.hidden_size]
        for i in range(m.num_layers):
            if i > 0:
                x = self.drop(x, m.dropout, out[0])
            both = []
            for back in range(1 + m.bidirectional):
                end = f"_l{i}" + "_reverse" * back
                given = {key[:-len(end)] + "_l0": p for key, p in m.named_parameters() if key.endswith(end)}
                y = self.emit({"type": "reverse"}, [x], x.dims, x) if back else x
                wish = f"{name}.reverse{i}" if back else name if i == 0 else f"{name}.layer{i}"
                y = self.emit({"type": "lstm" if lstm else "gru", "hidden": m.hidden_size, "output": "every"}, [y], x.dims, steps, wish, **given)
                last.append(y)
                both.append(self.emit({"type": "reverse"}, [y], x.dims, steps) if back else y)
            x = self.emit({"type": "concat"}, both, x.dims, out[0]) if m.bidirectional else y
        last = LastStates(last, packed)
        return [Packed(x) if packed else x, [last, CELL] if lstm else last]

    def multihead(self, m, name, args, kwargs, out):
        names = ["query", "key", "value", "key_padding_mask", "need_weights", "attn_mask"]
        given = {**dict(zip(names, args)), **kwargs}
        x = given["query"]
        self.wants(x, "NTC" if m.batch_first else "TNC")
        if any(not isinstance(given[k], Feature) or given[k].layer != x.layer for k in ("key", "value")):
            raise Unknown(f"{self.seeing} has other keys or values than queries; there is self-attention only")
        return self.attention(m, name, x, given.get("attn_mask"), given.get("key_padding_mask"), out, m.dropout, bool(given.get("is_causal", False)))

    def attention(self, m, name, x, mask, padding, out, dropout, causal=False):
        if not m._qkv_same_embed_dim or m.in_proj_bias is None or m.bias_k is not None or m.add_zero_attn:
            raise Unknown(f"{self.seeing}: kdim, vdim, bias=False, add_bias_kv and add_zero_attn have no layer")
        spec = {"type": "attention", "heads": m.num_heads, "causal": self.causal(mask, x.sizes["T"]), "mask_padding": isinstance(padding, Padding)}
        if causal and not spec["causal"]:
            raise Unknown(f"{self.seeing} has is_causal=True without a causal attn_mask")
        if not spec["mask_padding"] and padding is not None and not (isinstance(padding, Const) and padding.tensor is None):
            raise Unknown(f"{self.seeing}: key_padding_mask must be tokens == 0")
        if dropout > 0:
            self.note(f"{self.seeing}: dropout={dropout} of the attention weights is left out, which no layer supports")
        self.once(m, name)
        return self.emit(spec, [x], x.dims, out, name, in_proj_weight=m.in_proj_weight, in_proj_bias=m.in_proj_bias,
                         out_proj__weight=m.out_proj.weight, out_proj__bias=m.out_proj.bias)

    def causal(self, mask, steps):
        if mask is None or isinstance(mask, Const) and mask.tensor is None:
            return False
        if isinstance(mask, Const) and tuple(mask.tensor.shape) == (steps, steps):
            hidden = mask.tensor if mask.tensor.dtype == torch.bool else mask.tensor < -1e8
            if torch.equal(hidden, torch.ones_like(hidden).triu(1)) and (mask.tensor.dtype == torch.bool or not mask.tensor.tril().any()):
                return True
            if not mask.tensor.any():
                return False
        raise Unknown(f"{self.seeing}: attn_mask must hide the steps behind each one, torch.triu(ones, 1), or none")

    def note(self, text):
        if text not in self.notes:
            self.notes.append(text)

    def transformer(self, m, name, args, kwargs, out):
        names = ["src", "mask" if isinstance(m, nn.TransformerEncoder) else "src_mask", "src_key_padding_mask", "is_causal"]
        given = {**dict(zip(names, args)), **kwargs}
        x, mask, padding = given["src"], given.get(names[1]), given.get(names[2])
        whole = isinstance(m, nn.TransformerEncoder)
        blocks = [(f"{name}.layers.{i}", b) for i, b in enumerate(m.layers)] if whole else [(name, m)]
        for at, b in blocks:
            self.wants(x, "NTC" if b.self_attn.batch_first else "TNC")
            x = self.block(b, at, x, mask, padding, out)
        if whole and m.norm is not None:
            x = self.rownorm(m.norm, name + ".norm", x, out)
        return x

    def block(self, b, name, x, mask, padding, out):
        """A block of a transformer encoder."""
        if b.activation in (F.relu, torch.relu) or isinstance(b.activation, nn.ReLU):
            act = {"type": "relu"}
        elif b.activation is F.gelu or isinstance(b.activation, nn.GELU):
            act = {"type": "gelu"}
            if getattr(b.activation, "approximate", "none") == "tanh":
                act["approximate"] = "tanh"
        else:
            raise Unknown(f"{self.seeing} has another activation than ReLU and GELU")
        if b.linear1.bias is None:
            raise Unknown(f"{self.seeing} has bias=False, which no layer supports")

        def attend(x):
            y = self.attention(b.self_attn, name + ".self_attn", x, mask, padding, out, b.self_attn.dropout)
            return self.drop(y, b.dropout1.p, out)

        def feed(x):
            y = self.linear(b.linear1, name + ".linear1", x, out)
            y = self.drop(self.emit(act, [y], y.dims, out), b.dropout.p, out)
            return self.drop(self.linear(b.linear2, name + ".linear2", y, out), b.dropout2.p, out)

        def norm(n, x):
            return self.rownorm(getattr(b, n), f"{name}.{n}", x, out)

        if b.norm_first:
            x = self.sum(x, attend(norm("norm1", x)), out)
            return self.sum(x, feed(norm("norm2", x)), out)
        x = norm("norm1", self.sum(x, attend(x), out))
        return norm("norm2", self.sum(x, feed(x), out))

    def drop(self, x, rate, out, channels=False):
        return self.emit({"type": "dropout", "rate": rate, "channels": channels}, [x], x.dims, out) if rate > 0 else x

    def sum(self, a, b, out):
        if a.layer == b.layer:
            raise Unknown(f"{self.seeing} adds a tensor to itself")
        return self.emit({"type": "add"}, [a, b], a.dims, out)

    # Functions and methods.

    def function(self, name, args, kwargs, out):
        if name == "getitem":
            return self.getitem(*args, out)
        x = args[0] if args else kwargs.get("input")
        if name == "getattr" and isinstance(x, list) and args[1] == "values":
            return x[0]
        if name == "max" and isinstance(out, tuple):
            return [self.pool("amax", x, args[1:], kwargs, out[0])]
        if name in ("eq", "__eq__") and isinstance(x, Tokens) and args[1] == 0:
            return Padding()
        if name in ("ne", "__ne__", "gt", "__gt__") and isinstance(x, Tokens) and args[1] == 0 or name in ("invert", "__invert__", "logical_not", "bitwise_not") and isinstance(x, Padding):
            return Real()
        if isinstance(x, Real) and name == "sum" and out.numel() == len(self.example) or isinstance(x, Tokens) and name == "count_nonzero":
            return Real(counted=True)
        if isinstance(x, Real) and name in ("cpu", "long", "int", "tolist", "clamp", "unsqueeze"):
            return x
        if name in ("mul", "__mul__", "__rmul__") and [v for v in args if isinstance(v, Real) and not v.counted]:
            return Masked(next(v for v in args if isinstance(v, Feature) and v.dims == "NTC"))
        if isinstance(x, Masked) and name == "sum" and out.shape == x.every.shape[::2] and not x.summed:
            return Masked(x.every, True)
        if isinstance(x, Masked) and name in ("div", "truediv", "__truediv__") and x.summed and getattr(args[1], "counted", False):
            return self.steps(x.every, "mean", out, True)
        if isinstance(x, Masked):
            raise self.unknown(MEAN)
        if name == "pack_padded_sequence":
            self.wants(x, "NTC" if kwargs.get("batch_first", args[2] if len(args) > 2 else False) else "TNC")
            lengths = kwargs.get("lengths", args[1] if len(args) > 1 else None)
            if not isinstance(lengths, Real) or not lengths.counted:
                raise Unknown(f"{self.seeing}: the lengths must be made of the tokens, (x != 0).sum(1), since 0 pads")
            return Packed(x)
        if name == "pad_packed_sequence" and isinstance(x, Packed):
            return [Padded(x.every), Real(counted=True)]
        if name in ("sort", "argsort") and isinstance(x, (Real, Order)):
            order = Order(isinstance(x, Order) and not x.back)
            return [x, order] if name == "sort" else order
        if isinstance(x, Real) and x.counted and name in ("sub", "__sub__") and number(args[1:], 1) or isinstance(x, Ends):
            return Ends()
        if name == "index_select":
            return self.getitem(x, args[2], out)
        if name == "gather" and isinstance(args[2], Ends):
            return self.getitem(x, args[2], out.squeeze(1))
        if name in ("contiguous", "clone", "float", "to", "detach") or name in ("expand", "expand_as") and isinstance(x, Feature) and x.dims == "NCHW":
            return x
        if isinstance(x, LastStates) and len(x.every) == 1 and tuple(out.shape) == (x.every[0].sizes["N"], x.every[0].sizes["C"]):
            return self.steps(x.every[0], "last", out, x.packed)
        if any(isinstance(v, Ramp) for v in args):
            return self.ramp(name, *args, kwargs, out)
        if name in ("add", "iadd", "__add__", "__radd__"):
            if kwargs.get("alpha", 1) != 1:
                raise self.unknown()
            if isinstance(x, Feature) and number(args[1:], 3):
                return Ramp(x, "shifted")
            return self.add(x, args[1] if len(args) > 1 else kwargs["other"], out)
        factor = next((float(v) for v in args if isinstance(v, (int, float)) and not isinstance(v, bool)), None)
        if name in ("mul", "imul", "__mul__", "__rmul__", "div", "truediv", "idiv", "itruediv", "__truediv__") and len(args) == 2 and factor and isinstance(x, Feature):
            return self.scale(x, factor if "mul" in name else 1 / factor, out)
        if name in ("mul", "imul", "__mul__", "__rmul__") and len(args) == 2 and factor and isinstance(args[1], Feature):
            return self.scale(args[1], factor, out)
        if name in ("mul", "imul", "__mul__"):
            return self.gate(x, args[1], out)
        if name in ("cat", "concat"):
            return self.cat(x, kwargs.get("dim", args[1] if len(args) > 1 else 0), out)
        if name == "linear" and isinstance(x, Feature):
            weight = args[1]
            if isinstance(weight, Const) and weight.tensor is getattr(self, "table", None) and len(args) < 3 and not kwargs.get("bias"):
                return self.emit({"type": "tied"}, [x], x.dims, out)
        if not isinstance(x, Feature):
            raise self.unknown()
        if name in ("flatten", "view", "reshape", "squeeze", "unsqueeze"):
            return self.reshape(x, out)
        if name in ("permute", "transpose", "swapaxes"):
            return self.permute(name, x, args[1:], kwargs, out)
        if name in FUNCTIONS:
            tanh = "tanh" in (*args[1:], kwargs.get("approximate"))
            return self.emit({"type": FUNCTIONS[name], "approximate": "tanh" if tanh else None}, [x], x.dims, out)
        if name == "leaky_relu":
            return self.emit({"type": "leakyrelu", "slope": float(kwargs.get("negative_slope", args[1] if len(args) > 1 else 0.01))}, [x], x.dims, out)
        if name == "stochastic_depth":  # torchvision's
            self.note("stochastic depth, which drops blocks at random in training, is left out, which no layer supports")
            return x
        if name in ("dropout", "dropout1d", "dropout2d"):
            rate, channels = kwargs.get("p", args[1] if len(args) > 1 else 0.5), name != "dropout"
            x = self.image(x, "NCHW", "NCL") if channels else x
            return self.drop(x, rate, out, channels) if kwargs.get("training", args[2] if len(args) > 2 else True) else x
        if name in ("chunk", "split", "tensor_split") and x.dims in ("NC", "NCHW") and kwargs.get("dim", args[2] if len(args) > 2 else 0) % len(x.dims) == 1:
            parts, at = [], 0
            for part in out:
                parts.append(self.take(x, at, part))
                at += part.shape[1]
            return parts
        if name in ("channel_shuffle", "native_channel_shuffle"):
            self.wants(x, "NCHW", "NCL")
            if x.layer == "input":
                raise Unknown(f"{self.seeing} shuffles channels of the input; only channels of a layer's outputs can be shuffled")
            return self.emit({"type": "channels", "groups": kwargs.get("groups", args[1] if len(args) > 1 else 1)}, [x], x.dims, out)
        if name in POOLS:
            return self.pool(name, x, args[1:], kwargs, out)
        if name == "local_response_norm":
            size, alpha, beta, k = (kwargs.get(key, args[i + 1] if len(args) > i + 1 else default)
                                    for i, (key, default) in enumerate([("size", None), ("alpha", 1e-4), ("beta", 0.75), ("k", 1.0)]))
            self.wants(x, "NCHW")
            if size % 2 == 0:
                raise Unknown(f"{self.seeing} has size={size}; it must be odd")
            return self.emit({"type": "lrn", "radius": size // 2, "bias": float(k), "alpha": alpha / size, "beta": float(beta)}, [x], x.dims, out)
        if name == "log_softmax":
            self.log_softmax = True
            self.note("log_softmax at the end is left out: fedfast's cross-entropy takes the logits, as nn.CrossEntropyLoss does, and is NLLLoss of log_softmax")
            return x
        if name == "softmax":
            raise self.unknown("return the logits: fedfast's cross-entropy takes the softmax, as nn.CrossEntropyLoss does")
        raise self.unknown(ADVICE.get(name, ""))

    def ramp(self, name, a, *rest):
        """The next step of relu6(x + 3) / 6, which is hardsigmoid, or of x * relu6(x + 3) / 6, which is hardswish."""
        *b, kwargs, out = rest
        x = next(v for v in (a, *b) if isinstance(v, Ramp))
        if x.state == "shifted" and (name == "relu6" or name == "clamp" and limits(b, kwargs) == (0, 6)):
            return Ramp(x.of, "cut")
        sixth = name in ("div", "truediv", "__truediv__", "idiv", "itruediv") and number(b, 6) or name in ("mul", "imul", "__mul__", "__rmul__") and number([v for v in (a, *b) if v is not x], 1 / 6)
        if sixth and x.state != "shifted":
            return self.emit({"type": "hardsigmoid" if x.state == "cut" else "hardswish"}, [x.of], x.of.dims, out)
        other = [v for v in (a, *b) if v is not x]
        if name in ("mul", "imul", "__mul__") and x.state == "cut" and isinstance(other[0], Feature) and other[0].layer == x.of.layer:
            return Ramp(x.of, "times x")
        raise self.unknown("of x + 3 there are relu6(x + 3) / 6 and x * relu6(x + 3) / 6")

    def getitem(self, x, index, out):
        if isinstance(x, (list, tuple)):
            return x[index]
        picked = [i for i in leaves(index) if isinstance(i, (Order, Ends))]
        if picked and isinstance(picked[0], Order):
            self.sorted = not picked[0].back
            return x
        if picked and isinstance(x, (Feature, Padded)):
            return self.steps(getattr(x, "every", x), "last", out, True)
        if isinstance(x, LastStates):
            at, *rest = index if isinstance(index, tuple) else (index,)
            if isinstance(at, int) and x.every[at] is not None and all(i in (slice(None), Ellipsis) for i in rest):
                return self.steps(x.every[at], "last", out, x.packed)
            raise Unknown(f"{self.seeing} takes the last state of a lower layer of a stack")
        index = index if isinstance(index, tuple) else (index,)
        if isinstance(x, Feature) and x.dims in ("NC", "NCHW") and all(isinstance(i, slice) for i in index) and tuple(out.shape) == (x.sizes["N"], out.shape[1], *x.shape[2:]):
            picked = range(x.sizes["C"])[index[1]] if len(index) > 1 else range(x.sizes["C"])
            if picked.step == 1:
                return self.take(x, picked.start, out)
        if isinstance(x, Feature) and "T" in x.dims and len(x.dims) == 3:
            picks = [(d, i) for d, i in zip(x.dims, index) if not (isinstance(i, slice) and range(x.sizes[d])[i] == range(x.sizes[d])) and i is not Ellipsis]
            if not picks:
                return x
            if len(picks) == 1 and picks[0][0] == "T" and isinstance(picks[0][1], int):
                at = picks[0][1] % x.sizes["T"]
                if at in (0, x.sizes["T"] - 1):
                    return self.steps(x, "last" if at else "first", out)
        raise Unknown(f"{self.seeing} takes a part of a tensor that no layer supports; of sequences there are the first and the last step")

    def take(self, x, first, out):
        """Channels of an image or a vector from one on."""
        if x.layer == "input":
            raise Unknown(f"{self.seeing} takes channels of the input; only channels of a layer's outputs can be taken")
        count = out.shape[1]
        if count == x.sizes["C"]:
            return x
        return self.emit({"type": "channels", "first": first or None, "count": count}, [x], x.dims, out)

    def scale(self, x, factor, out):
        if factor <= 0 or x.layer == "input":
            raise Unknown(f"{self.seeing} multiplies by {factor:g}; there is a product of a layer's outputs and a number above 0")
        return self.emit({"type": "scale", "factor": factor}, [x], x.dims, out)

    def steps(self, x, take, out, packed=False):
        return self.emit({"type": "steps", "take": take, **({"mask_padding": True} if packed else {})}, [x], "NC", out)

    def add(self, a, b, out):
        if isinstance(b, Feature) and not isinstance(a, Feature):
            a, b = b, a
        if isinstance(b, Feature):
            if a.dims != b.dims or a.sizes != b.sizes:
                raise Unknown(f"{self.seeing} adds tensors of shapes {tuple(a.sizes.values())} and {tuple(b.sizes.values())}; both must be the same")
            return self.sum(a, b, out)
        if isinstance(a, Feature) and isinstance(b, Const) and a.dims in ("NTC", "TNC") and isinstance(b.tensor, torch.Tensor):
            n = a.dims.index("N")
            values = b.tensor.detach()
            while values.dim() < 3:
                values = values.unsqueeze(n if values.dim() == 2 else 0)
            if values.shape[n] == 1 or torch.equal(values.narrow(n, 0, 1).expand_as(values), values):
                values = values.narrow(n, 0, 1).squeeze(n).expand(a.sizes["T"], a.sizes["C"])
                if b.origin is None or not any(p is b.tensor or b.origin in (k, k.rpartition(".")[0]) for k, p in self.model.named_parameters()):
                    self.note(f"{self.seeing} adds positions that are no parameters; here they train, unless client.trainable leaves them out")
                return self.emit({"type": "positions"}, [a], a.dims, out, b.origin, weight=values)
        raise Unknown(f"{self.seeing} adds a constant that no layer supports; there are positions, one vector a step")

    def gate(self, a, b, out):
        """Squeeze-and-excitation, whose five layers have been read, or x * sigmoid(x) and x * hardsigmoid(x)."""
        for x, scale in ((a, b), (b, a)):
            if not isinstance(x, Feature) or not isinstance(scale, Feature):
                continue
            spec, reads = next(((s, r) for s, r in self.layers if s["name"] == scale.layer), ({"type": ""}, []))
            if spec["type"] in PRODUCTS and reads == [x.layer] and x.dims == scale.dims:
                return self.emit({"type": PRODUCTS[spec["type"]]}, [x], x.dims, out)
            chain, at = [], scale.layer
            for kind in ("hardsigmoid", "conv", "relu", "conv", "avgpool"):
                found = [(i, s, r) for i, (s, r) in enumerate(self.layers) if s["name"] == at and s["type"] == kind]
                if not found or sum(at in r for _, r in self.layers) > (0 if kind == "hardsigmoid" else 1):
                    break
                chain.append(found[0])
                at = found[0][2][0] if found[0][2] else ""
            if len(chain) < 5 or at != x.layer or any(chain[i][1]["kernel"] != 1 or "no_bias" in chain[i][1] for i in (1, 3)):
                continue
            names = {key: chain[i][1]["name"] for key, i in (("fc1", 3), ("fc2", 1))}
            params = {f"{key}__{p}": self.params.pop((n, p)) for key, n in names.items() for p in ("weight", "bias")}
            for i, _, _ in sorted(chain, reverse=True):
                del self.layers[i]
            wish = names["fc1"].rpartition(".")[0] or None
            return self.emit({"type": "squeeze", "units": params["fc1__bias"].numel()}, [x], x.dims, out, wish, **params)
        if all(isinstance(v, Feature) for v in (a, b)) and a.dims == b.dims and a.layer != b.layer and "input" not in (a.layer, b.layer):
            x = max((a, b), key=lambda v: tuple(v.sizes.values()))
            y = b if x is a else a
            if a.sizes == b.sizes or x.dims in ("NCHW", "NCL") and all(n == 1 for d, n in y.sizes.items() if d not in "NC"):
                return self.emit({"type": "multiply"}, [a, b], x.dims, out)
        raise self.unknown("there are products of two layers of one shape, or of an image and a factor for each of its channels")

    def cat(self, parts, dim, out):
        parts = list(parts)
        features = [p for p in parts if isinstance(p, Feature)]
        if len(parts) == len(features) == 1:
            return features[0]
        form = features[0].dims if features else ""
        if len(parts) == len(features) and all(f.dims == form for f in features) and form and form[dim % len(form)] == "C":
            if len({f.layer for f in features}) < len(features):
                raise Unknown(f"{self.seeing} joins a tensor to itself")
            return self.emit({"type": "concat"}, features, form, out)
        if len(parts) == 2 and form == "NTC" and dim % 3 == 1 and isinstance(parts[0], Const) and isinstance(parts[1], Feature):
            spec, _ = self.layers[-1]
            token = parts[0].tensor
            if spec["name"] == parts[1].layer and spec["type"] == "sequence" and token.shape[1] == 1:
                spec["class_token"] = True
                name = self.rename(spec["name"], parts[0].origin)
                self.params[name, "class_token"] = token[:1].detach().float()
                return Feature(name, "NTC", out.shape)
            if token.shape[1] == 1:
                if not any(torch.equal(token[:1], p) for p in self.model.parameters() if p.shape == token[:1].shape):
                    self.note(f"{self.seeing}: the class token is scaled; here what it is multiplied by is within the parameter, so that it trains at another rate")
                return self.emit({"type": "sequence", "class_token": True}, [parts[1]], "NTC", out, parts[0].origin, class_token=token[:1])
        raise Unknown(f"{self.seeing} joins tensors that no layer supports; there are channels side by side, and a class token before an image's patches")

    def rename(self, old, wish):
        spec, _ = self.layers[-1]
        spec["name"] = ""
        spec["name"] = self.name(wish, spec["type"])
        return spec["name"]

    def reshape(self, x, out):
        n, shape = x.sizes.get("N"), tuple(out.shape)
        if shape == tuple(x.sizes.values()):
            return x
        if x.dims == "NCL" and x.layer == "input" and len(shape) == 4 and shape[:2] == (n, 1):
            return self.whole(x.view("NCHW", out))
        if x.dims == "NC" and x.layer == "input" and shape == (n, 1, x.sizes["C"]):
            return self.whole(x.view("NCL", out))
        if x.dims == "NCL":
            c, pixels = x.sizes["C"], x.sizes["L"]
            if shape == (n, c * pixels):
                return x.view("NC" if pixels == 1 else "NF", out)
            if shape == (n, c, 1, pixels):
                return x.view("NCHW", out)
        if x.dims == "NTC" and x.sizes["T"] == 1 and shape == (n, x.sizes["C"]):
            return self.steps(x, "last", out)
        image = tuple(x.sizes[d] for d in "HW") if "H" in x.dims else ()
        if x.dims in ("NC", "NCHW") and len(shape) == len(x.dims) + 1 and shape[0] == n and shape[3:] == image and shape[1] * shape[2] == x.sizes["C"]:
            return x.view(x.dims.replace("C", "GD"), out)
        if x.dims in ("NDG", "NDGHW") and shape == (n, x.sizes["D"] * x.sizes["G"], *image):
            return self.emit({"type": "channels", "groups": x.sizes["G"]}, [x], x.dims.replace("DG", "C"), out)
        if x.dims == "NCHW":
            c, pixels = x.sizes["C"], x.sizes["H"] * x.sizes["W"]
            if shape == (n, c * pixels):
                return x.view("NC" if pixels == 1 else "NF", out)
            if shape == (n, c, pixels):
                return x.view("NCP", out)
            if pixels == 1 and shape in ((n, c, 1), (n, c)):
                return x.view("NC" if len(shape) == 2 else "NCP", out)
        if x.dims == "NCP" and shape == (n, x.sizes["C"]):
            return x.view("NC", out)
        if x.dims == "NC" and shape == (n, x.sizes["C"], 1, 1):
            return x.view("NCHW", out)
        if x.dims == "NHWC" and len(shape) == 3 and shape[2] == x.sizes["C"] and shape[1] == x.sizes["H"] * x.sizes["W"]:
            return self.emit({"type": "sequence"}, [x], "NTC", out)
        raise Unknown(f"{self.seeing} makes {shape} of {tuple(x.sizes.values())}, which no layer supports")

    def whole(self, x):
        """The input, which the module makes another image of before anything reads it."""
        if self.layers:
            raise Unknown(f"{self.seeing} makes {tuple(x.sizes.values())} of the input, which layers have read already")
        self.example_shape = tuple(x.sizes.values())
        return x

    def permute(self, name, x, args, kwargs, out):
        order = list(range(len(x.dims)))
        if name == "permute":
            order = list(args[0] if args and isinstance(args[0], (tuple, list)) else args or kwargs["dims"])
        else:
            i, j = (a % len(order) for a in (args or list(kwargs.values())))
            order[i], order[j] = order[j], order[i]
        dims = "".join(x.dims[i] for i in order)
        if dims in ("NPC", "PNC", "NLC", "LNC"):
            return self.emit({"type": "sequence"}, [x], re.sub("[PL]", "T", dims), out)
        if dims in ("NDG", "NDGHW"):
            return x.view(dims, out)
        if sorted(dims) in (sorted("NCHW"), sorted("NTC")) and dims in ("NCHW", "NHWC", "NTC", "TNC", "NCT"):
            return x.view(dims, out)
        raise Unknown(f"{self.seeing} gives the order {'x'.join(dims)}, which no layer reads")

    def pool(self, name, x, args, kwargs, out):
        def given(key, at, default=None):
            return kwargs.get(key, args[at] if len(args) > at else default)
        if name in ("mean", "amax"):
            spec = {"type": "avgpool"} if name == "mean" else {"type": "maxpool", "rows": 1, "columns": 1}
            axes = given("dim", 0)
            axes = [axes] if isinstance(axes, int) else list(axes or [])
            over = "".join(sorted(x.dims[a % len(x.dims)] for a in axes))
            if over == "T" and name == "mean":
                return self.steps(x, "mean", out)
            if over == "HW" and x.dims == "NCHW" or over in ("P", "L") and x.dims in ("NCP", "NCL"):
                return self.emit(spec, [x], {2: "NC", 3: x.dims, 4: "NCHW"}[out.dim()], out)
            raise self.unknown("there are means over the steps of a sequence, and means and maxima over the rows and columns of an image")
        x = self.image(x, "NCL" if "1d" in name else "NCHW")
        inside, outside = (1, *list(x.sizes.values())[2:])[-2:], (1, *out.shape[2:])[-2:]
        largest = "max" in name
        spec = {"type": "maxpool" if largest else "avgpool"}
        if "adaptive" in name:
            if outside == inside:
                return x
            if outside != (1, 1) or largest:
                spec["rows"], spec["columns"] = outside
            return self.emit(spec, [x], x.dims, out)
        size = self.sides(given("kernel_size", 0), x)
        if given("divisor_override", 5):
            raise Unknown(f"{self.seeing} has divisor_override, which no layer supports; leave it out, and multiply by {size[0] * size[1]}/{given('divisor_override', 5)} after it")
        stride = self.stride(given("stride", 1) or given("kernel_size", 0), x, out)
        padding = self.padded(size, given("padding", 2, 0), x)
        if largest and self.one(given("dilation", 3, 1), "dilation") != 1:
            raise Unknown(f"{self.seeing} has dilation, which no layer supports")
        self.window(spec, "size", size)
        ceil = any(n != (side + 2 * (padding if k > 1 else 0) - k) // stride + 1 for side, k, n in zip(inside, size, outside))
        spec.update(stride=None if stride == max(size) else stride, pad=padding or None, ceil=ceil, count_pad=bool(padding and not largest and given("count_include_pad", 4, True)))
        return self.emit(spec, [x], x.dims, out)


class LastStates:
    """The last hidden states of a recurrent module, by the layers that give those of every step, None where no layer of its own does, and whether the
    module read a packed sequence."""

    def __init__(self, every, packed):
        self.every, self.packed = every, packed


# The last cell states of an LSTM.
CELL = object()


class Ramp:
    """A part of hardsigmoid and hardswish written out: x + 3, what is cut of that to 0 to 6, or x times it."""

    def __init__(self, of, state):
        self.of, self.state = of, state


# What x times a function of x is.
PRODUCTS = {"sigmoid": "silu", "hardsigmoid": "hardswish"}

POOLS = {f"{kind}_pool{n}d" for n in (1, 2) for kind in ("max", "avg", "adaptive_max", "adaptive_avg")} | {"mean", "amax"}

# Modules that do what a function does, with their attributes that the function takes.
MODULES = {
    nn.Dropout: ("dropout", ["p"]), nn.Dropout1d: ("dropout1d", ["p"]), nn.Dropout2d: ("dropout2d", ["p"]), nn.GELU: ("gelu", ["approximate"]),
    nn.LogSoftmax: ("log_softmax", []), nn.Softmax: ("softmax", []),
    nn.MaxPool1d: ("max_pool1d", ["kernel_size", "stride", "padding", "dilation", "ceil_mode"]),
    nn.MaxPool2d: ("max_pool2d", ["kernel_size", "stride", "padding", "dilation", "ceil_mode"]),
    nn.AvgPool1d: ("avg_pool1d", ["kernel_size", "stride", "padding", "ceil_mode", "count_include_pad"]), nn.AdaptiveAvgPool1d: ("adaptive_avg_pool1d", []),
    nn.AvgPool2d: ("avg_pool2d", ["kernel_size", "stride", "padding", "ceil_mode", "count_include_pad", "divisor_override"]), nn.AdaptiveAvgPool2d: ("adaptive_avg_pool2d", []),
    nn.AdaptiveMaxPool1d: ("adaptive_max_pool1d", []), nn.AdaptiveMaxPool2d: ("adaptive_max_pool2d", []),
    nn.ChannelShuffle: ("channel_shuffle", ["groups"]), nn.LocalResponseNorm: ("local_response_norm", ["size", "alpha", "beta", "k"]),
}

ADVICE = {
    "scaled_dot_product_attention": "use nn.MultiheadAttention",
    "matmul": "for attention use nn.MultiheadAttention", "bmm": "for attention use nn.MultiheadAttention", "chunk": "for attention use nn.MultiheadAttention",
    "batch_norm": "use nn.BatchNorm2d",
}


def registered(module):
    """The layer that a module is by itself, None unless it is one."""
    return LAYERS.get(kind(module)) or LAYERS.get(type(module).__name__)


def kind(module):
    return ("nn." if type(module).__module__.startswith("torch.nn") else "") + type(module).__name__


def leaves(x):
    """The values within tuples, lists and tables."""
    if isinstance(x, dict):
        return leaves(list(x.values()))
    if isinstance(x, (tuple, list)):
        return [v for e in x for v in leaves(e)]
    return [x]


def number(args, want):
    """Whether the one argument is a number."""
    return len(args) == 1 and isinstance(args[0], (int, float)) and abs(args[0] - want) < 1e-6


def limits(args, kwargs):
    """The least and the largest value of clamp."""
    given = dict(zip(("min", "max"), args), **kwargs)
    return given.get("min"), given.get("max")


class Drops(TorchFunctionMode):
    """Refuses dropout that is at work although the module is not training."""

    def __init__(self, script):
        super().__init__()
        self.script = str(Path(script).resolve())

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        name = getattr(func, "__name__", "")
        if "dropout" in name and kwargs.get("p", args[1] if len(args) > 1 else 1) and kwargs.get("training", kwargs.get("train", args[2] if len(args) > 2 else True)):
            line, frame = "", sys._getframe()
            while frame and not line:
                if str(Path(frame.f_code.co_filename).resolve()) == self.script:
                    line = f" (line {frame.f_lineno})"
                frame = frame.f_back
            raise Unknown(f"F.{name}{line} drops values outside of training, too: call it with training=self.training, or make nn.Dropout in __init__")
        return func(*args, **kwargs)


def one_line(e):
    return " ".join(str(e).split())


def find(script, name):
    """The module that a script defines."""
    spec = importlib.util.spec_from_file_location("imported", script)
    scope = importlib.util.module_from_spec(spec)
    sys.modules["imported"] = scope
    sys.path.insert(0, str(Path(script).resolve().parent))
    try:
        spec.loader.exec_module(scope)
    except Exception as e:
        raise Unknown(f"{script} cannot be run: {type(e).__name__}: {one_line(e)}")
    classes = {k: v for k, v in vars(scope).items() if inspect.isclass(v) and issubclass(v, nn.Module) and v.__module__ == "imported"}
    instances = {k: v for k, v in vars(scope).items() if isinstance(v, nn.Module)}
    if name:
        try:
            found = eval(name, vars(scope)) if "(" in name else vars(scope)[name]
        except KeyError:
            raise Unknown(f"{script} has no {name}; its modules are {', '.join([*classes, *instances]) or 'none'}")
        except Exception as e:
            raise Unknown(f"{name} of {script}: {type(e).__name__}: {one_line(e)}")
        return made(script, name, found)
    classes = classes or instances
    if not classes:
        raise Unknown(f"{script} defines no torch.nn.Module; name a function that makes one with --class, or a script that defines a network")
    alone = classes if classes is instances else {k: v for k, v in classes.items() if not within(k, classes)}
    if len(alone) != 1:
        raise Unknown(f"{script} defines {len(classes)} modules ({', '.join(classes)}); say which with --class")
    (name, found), = alone.items()
    return made(script, name, found)


def within(name, classes):
    """Whether a class is named in the source of another one, as a part of it."""
    return any(re.search(rf"\b{name}\b", inspect.getsource(c)) for k, c in classes.items() if k != name)


def made(script, name, found):
    if not isinstance(found, nn.Module):
        try:
            found = found()
        except TypeError as e:
            raise Unknown(f"{name} of {script} cannot be made: {one_line(e)}; give its arguments, such as --class '{name}(10)'")
    if not isinstance(found, nn.Module):
        raise Unknown(f"{name} of {script} is not an nn.Module")
    return found


def example(text, model):
    """An input of the form that was given."""
    steps = re.fullmatch(r"([1-9]\d*)tokens", text)
    if steps:
        vocabulary = [m.num_embeddings for m in model.modules() if isinstance(m, nn.Embedding)]
        if not vocabulary:
            raise Unknown("--input says tokens, and the module has no nn.Embedding that reads them")
        x = torch.randint(1, vocabulary[0], (SAMPLES, int(steps[1])))
        for i in range(1, SAMPLES):
            x[i, -(-x.shape[1] // 2 ** i):] = 0  # padding
        return x
    sizes = [int(n) for n in text.split("x")]
    return torch.randn(SAMPLES, *sizes)


def tables(importer):
    """The tables of the layers. A layer that reads the one before does not say so."""
    merge(importer.layers)
    out, before = [], "input"
    kept, read = [], {importer.last.layer}
    for spec, reads in reversed(importer.layers):
        if spec["name"] in read or spec["type"] not in (*PRODUCTS, "reverse", "concat"):
            kept.insert(0, (spec, reads))
            read.update(reads)
    importer.layers = kept
    for spec, reads in importer.layers:
        spec = dict(spec)
        if spec["type"] in ("add", "concat", "multiply"):
            spec["inputs"] = reads
        elif reads and reads[0] != before:
            spec["input"] = reads[0]
        before = spec["name"]
        out.append(spec)
    unread = [s["name"] for s in out[:-1] if s["name"] not in read]
    if unread:
        raise Unknown(f"nothing reads what layer {unread[0]} gives; a network has one output")
    named = {n for s in out for n in s.get("inputs", []) + [s.get("input", "")]}
    owners = {layer for layer, _ in importer.params}
    for s in out:
        if s["name"] not in named and s["name"] not in owners:
            del s["name"]
    return out


def tensors(importer, layers):
    """Names and shapes of the tensors in files, which are the module's, as far as a tensor is one of its state; the layers are told where they differ."""
    state, given = importer.model.state_dict(), []
    owners = {t.data_ptr(): n for n, t in reversed(state.items()) if t.is_contiguous() and not re.search(r"\s", n)}
    for (layer, key), p in importer.params.items():
        own, shape = f"{layer}.{key}", p.shape
        name = owners.get(p.data_ptr(), own) if p.is_contiguous() else own
        if name in state:
            same = state[name].numel() == p.numel() and torch.equal(state[name].float().flatten(), p.flatten())
            name, shape = (name, state[name].shape) if same else (own + "_part", shape)  # such as the first of more positions
        if name != own or shape != p.shape:
            form = " " + "x".join(map(str, shape)) if shape != p.shape else ""
            next(s for s in layers if s.get("name") == layer).setdefault("tensors", []).append(f"{key} = {name}{form}")
        given.append({"name": name, "shape": list(shape)})
    lost = [n for n in state if n not in {t["name"] for t in given} and not n.endswith("num_batches_tracked")]
    if lost:
        importer.note(f"the weights have no {', '.join(lost)}, as the module's class has: load_state_dict takes them with strict=False")
    return given


def merge(layers):
    """Has recurrent layers of which only the last step is read give that alone."""
    for i, (spec, reads) in reversed(list(enumerate(layers))):
        if spec["type"] != "steps" or spec["take"] != "last" or "mask_padding" in spec or sum(reads[0] in r for _, r in layers) > 1:
            continue
        every = next((s for s, _ in layers if s["name"] == reads[0] and s["type"] in ("lstm", "gru")), None)
        if every is None:
            continue
        every["output"] = "last"
        del layers[i]
        for _, other in layers:
            other[:] = [reads[0] if name == spec["name"] else name for name in other]


def bare(state, own):
    """A state_dict without what DataParallel, torch.compile and wrappers put before all names."""
    first = next(iter(own), "")
    before = {k[: -len(first)] for k in state if isinstance(k, str) and k.endswith("." + first)}
    if first in state or len(before) != 1 or not all(isinstance(k, str) and k.startswith(tuple(before)) for k in state):
        return state
    return {k[len(min(before)) :]: v for k, v in state.items()}


def main(script, name, form, weights, folder):
    for own in json.loads((Path(folder) / "layers.json").read_text()):
        LAYERS[own["module"]], FUNCTIONS[own["function"]] = own, own["type"]
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = find(script, name)
    if weights:
        try:
            state = torch.load(weights, map_location="cpu", weights_only=True)
        except pickle.UnpicklingError:
            raise Unknown(f"{weights}: has more than tensors; save torch.save(module.state_dict(), FILE)")
        if isinstance(state, dict):
            state = next((state[key] for key in ("state_dict", "model_state_dict", "model") if key in state), state)
            state = bare(state, model.state_dict())
        try:
            model.load_state_dict(state)
        except Exception as e:
            raise Unknown(f"{weights}: {one_line(e)}")
        bad = [name for name, t in model.state_dict().items() if not torch.isfinite(t).all()]
        if bad:
            raise Unknown(f"{weights}: values of {', '.join(bad)} are not finite")
    model.float()
    x = example(form, model)
    model.eval()
    with torch.no_grad():
        try:
            with Drops(script):
                model(x)
            y, again = model(x), model(x)  # PyTorch computes otherwise while calls are watched
        except Unknown:
            raise
        except Exception as e:
            if form.isdigit() and any(isinstance(m, nn.Embedding) for m in model.modules()):
                raise Unknown(f"{type(model).__name__} reads tokens, by nn.Embedding: say --input {form}tokens")
            if "required positional argument" in str(e):
                raise Unknown(f"{one_line(e)}: a network has one input; make the others in forward, such as lengths = (x != 0).sum(1)")
            raise Unknown(f"{type(model).__name__} does not take an input of shape {form} (channels first, as 3x32x32): {one_line(e)}")
    if not isinstance(y, torch.Tensor):
        raise Unknown(f"{type(model).__name__} returns a {type(y).__name__}; a network returns one tensor, an output for each class: import a module whose forward returns that part alone")
    if not torch.equal(y, again):
        raise Unknown(f"{type(model).__name__} predicts something else each time, also with eval(): it draws random numbers, which no layer supports")
    model.train()
    for m in model.modules():
        if isinstance(m, nn.modules.batchnorm._BatchNorm):
            m.eval()  # its statistics stay as they are
    importer = Importer(model, x)
    try:
        importer.run()
    except (AttributeError, IndexError, KeyError, RuntimeError, TypeError, ValueError) as e:
        raise Unknown(f"{importer.seeing or type(model).__name__} is used in a way that is not supported: {type(e).__name__}: {one_line(e)}")
    if importer.last.dims == "NCT":
        y = y.transpose(1, 2)
    layers = tables(importer)
    result = {
        "name": type(model).__name__, "layers": layers, "tensors": tensors(importer, layers), "classes": y.shape[-1], "notes": importer.notes, "log_softmax": importer.log_softmax,
        "tokens": x.dtype == torch.long, "vocab": getattr(importer, "vocab", 0), "shape": importer.shape(), "values": x.flatten().tolist(), "outputs": y.flatten().tolist(),
    }
    folder = Path(folder)
    with open(folder / "weights.f32", "wb") as f:
        for p in importer.params.values():
            p = p.contiguous()
            f.write(ctypes.string_at(p.data_ptr(), 4 * p.numel()))
    (folder / "model.json").write_text(json.dumps(result))


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except Unknown as e:
        sys.exit(f"unknown: {e}")
