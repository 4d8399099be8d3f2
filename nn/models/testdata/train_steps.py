"""Trains one network with PyTorch in float64 and writes the parameters it ends with.

Started by torch_test.go, it takes jobs until its input ends, since it takes long to start:
a line is a JSON list of JOB.json PARAMS.f32 INPUT.f32 OUT.f64 [DIRECTION.f32], and the
answer a JSON list of the losses before each step, when OUT.f64 is written.

With a direction it does not train: it writes the product of the loss' Hessian with it, as a
difference of gradients.

JOB.json holds
  layers   list of {"op": conv | depthwise | squeeze | pool | maxpool | avgpool | lrn | groupnorm | batchnorm | layernorm | rmsnorm | residual | mean | relu | gelu and others |
           sequence | positions | attention | steps | tied |
           flatten | linear | embedding | lstm | gru | graph (branches of from, concat or mix, body) | last | every, ...}
  shapes   shape of every parameter, in the order in which the layers consume them
  tokens   list of token sequences (token models), or null
  x        [batch, channels, height, width] (image models), or null; INPUT.f32 then holds the images, channel first
  labels   one label per sample, or one per position, sample by sample; -1 is masked
  lr, momentum, nesterov, weight_decay, bias_decay (of what has one dimension), clip_norm (0: no clipping), steps
  optimizer  sgd, adam or adamw, which have betas and eps
  loss     {"kind": cross_entropy | sigmoid | squared | huber, "smoothing", "delta", "weights": one a class or null,
           "targets": one a sample and output, or null}
PARAMS.f32 and INPUT.f32 are little-endian float32, OUT.f64 little-endian float64.
"""
import ctypes
import json
import sys

import torch
import torch.nn.functional as F

torch.set_num_threads(1)
torch.set_default_dtype(torch.float64)


def read_floats(path):
    with open(path, "rb") as f:
        return torch.frombuffer(bytearray(f.read()), dtype=torch.float32).to(torch.float64)


def build(job, flat):
    """Cuts the flat file into one trainable tensor a parameter."""
    params, at = [], 0
    for shape in job["shapes"]:
        n = 1
        for d in shape:
            n *= d
        params.append(flat[at:at + n].reshape(shape).clone().requires_grad_(True))
        at += n
    assert at == flat.numel(), "parameters do not fill the file"
    return params


def torch_lstm(x, weights):
    """The library's own LSTM over all layers; weights holds w_ih, w_hh, b_ih, b_hh of each."""
    batch, hidden, layers = x.shape[0], weights[1].shape[1], len(weights) // 4
    zero = x.new_zeros(layers, batch, hidden)
    return torch._VF.lstm(x, (zero, zero), weights, True, layers, 0.0, False, False, True)[0]


def forget_bias(layer, bias):
    """The constant that stands for a second bias: TensorFlow's on the forget gates."""
    constant = torch.zeros_like(bias)
    hidden = bias.shape[0] // 4
    constant[hidden:2 * hidden] = layer.get("forget_bias", 0.0)
    return constant


def max_pool(layer, x):
    """A pool of 2, or one of any size with the padding that TensorFlow calls same."""
    if "size" not in layer:
        return F.max_pool2d(x, 2)
    size, stride = layer["size"], layer["stride"]
    pads = []
    for n in (x.shape[3], x.shape[2]):
        total = max((-(-n // stride) - 1) * stride + size - n, 0)
        pads += [total // 2, total - total // 2]
    return F.max_pool2d(F.pad(x, pads, value=-float("inf")), size, stride)


CURVES = {
    "gelu": F.gelu, "gelutanh": lambda x: F.gelu(x, approximate="tanh"), "silu": F.silu, "hardswish": F.hardswish, "hardsigmoid": F.hardsigmoid,
    "sigmoid": torch.sigmoid, "tanh": torch.tanh,
}


def attention(layer, x, *weights):
    """The library's own attention, which wants the steps first."""
    steps, hidden = x.shape[1], None
    mask = torch.full((steps, steps), -float("inf")).triu(1) if layer.get("causal") else None
    if layer.get("mask_padding"):
        hidden = tokens == 0
    y, _ = F.multi_head_attention_forward(
        x.transpose(0, 1), x.transpose(0, 1), x.transpose(0, 1), x.shape[2], layer["heads"], weights[0], weights[1], None, None, False, 0.0,
        weights[2], weights[3], key_padding_mask=hidden, need_weights=False, attn_mask=mask)
    return y.transpose(0, 1)


def real_step(take, real, every):
    """One vector of the real steps of a sequence, of which there may be none."""
    if take == "mean":
        return real.sum(0) / max(len(real), 1)
    return (real if len(real) else every[:1])[0 if take == "first" else -1]


def rows(x, f):
    """Applies f to the channels, which come last but in images."""
    return f(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2) if x.dim() == 4 else f(x)


def forward(layers, it, x):
    """Takes x through the layers, which consume the parameters of the iterator it."""
    for layer in layers:
        op = layer["op"]
        if op == "conv":
            weight = next(it)
            bias = None if layer.get("no_bias") else next(it)
            x = F.conv2d(x, weight, bias, stride=layer.get("stride", 1), padding=layer["padding"],
                         dilation=layer.get("dilation", 1), groups=layer.get("groups", 1))
        elif op == "depthwise":
            weight = next(it)
            bias = None if layer.get("no_bias") else next(it)
            x = F.conv2d(x, weight, bias, stride=layer.get("stride", 1), padding=layer["padding"], dilation=layer.get("dilation", 1), groups=x.shape[1])
        elif op == "squeeze":
            gate = F.relu(F.conv2d(x.mean((2, 3), keepdim=True), next(it), next(it)))
            x = x * F.hardsigmoid(F.conv2d(gate, next(it), next(it)))
        elif op == "sequence":
            x = x.flatten(2).transpose(1, 2)
            if layer.get("class_token"):
                x = torch.cat((next(it).expand(x.shape[0], 1, x.shape[2]), x), 1)
        elif op == "positions":
            x = x + next(it)
        elif op == "attention":
            x = attention(layer, x, next(it), next(it), next(it), next(it))
        elif op == "steps" and layer.get("mask_padding"):
            x = torch.stack([real_step(layer["take"], y[ids != 0], y) for y, ids in zip(x, tokens)])
        elif op == "steps":
            x = {"first": lambda: x[:, 0], "last": lambda: x[:, -1], "mean": lambda: x.mean(1)}[layer["take"]]()
        elif op == "tied":
            x = F.linear(x, first)
        elif op in CURVES:
            x = CURVES[op](x)
        elif op == "layernorm":
            weight, bias = next(it), next(it)
            x = rows(x, lambda y: F.layer_norm(y, weight.shape, weight, bias))
        elif op == "rmsnorm":
            weight = next(it)
            x = rows(x, lambda y: y * torch.rsqrt(y.square().mean(-1, keepdim=True) + 2.0 ** -23) * weight)
        elif op == "relu":
            x = torch.relu(x)
        elif op == "pool":
            x = max_pool(layer, x)
        elif op == "maxpool":
            x = F.max_pool2d(x, layer["size"], layer["stride"], layer["padding"])
        elif op == "avgpool":
            x = F.avg_pool2d(x, layer["size"], layer["stride"], layer["padding"], count_include_pad=False)
        elif op == "lrn":
            size = 2 * layer["radius"] + 1
            x = F.local_response_norm(x, size, alpha=layer["alpha"] * size, beta=layer["beta"], k=layer["k"])
        elif op == "groupnorm":
            x = F.group_norm(x, layer["groups"], *(() if layer.get("no_affine") else (next(it), next(it))))
        elif op == "batchnorm":
            weight, bias, mean, variance = next(it), next(it), next(it).requires_grad_(False), next(it).requires_grad_(False)
            x = F.batch_norm(x, mean, variance, weight, bias, training=True)
        elif op == "residual":
            body = forward(layer["body"], it, x)
            x = body + forward(layer.get("shortcut", []), it, x)
        elif op == "mean":
            x = x.mean((2, 3))
        elif op == "flatten":
            if layer.get("order") == "hwc":
                x = x.permute(0, 2, 3, 1)
            x = x.flatten(1)
        elif op == "linear":
            x = F.linear(x, next(it), None if layer.get("no_bias") else next(it))
        elif op == "embedding":
            x = F.embedding(x, next(it), padding_idx=layer.get("padding_idx"))
        elif op == "lstm":
            weights = []
            for _ in range(layer["layers"]):
                weights += [next(it), next(it), next(it)]
                weights.append(next(it) if layer["biases"] == 2 else forget_bias(layer, weights[-1]))
            x = torch_lstm(x, weights)
        elif op == "gru":
            weights = [next(it), next(it), next(it), next(it)]
            zero = x.new_zeros(1, x.shape[0], weights[1].shape[1])
            x = torch._VF.gru(x, zero, weights, True, 1, 0.0, False, False, True)[0]
        elif op == "graph":
            given, shares = [x], {}
            for branch in layer["branches"]:
                read = [given[i + 1] for i in branch["from"]]
                if "mix" in branch:
                    if branch["mix"] not in shares:
                        shares[branch["mix"]] = torch.softmax(next(it), 0)
                    given.append(sum(p * y for p, y in zip(shares[branch["mix"]][1:], read)))
                    continue
                y = torch.cat(read, 1 if read[0].dim() == 4 else -1) if branch.get("concat") else sum(read[1:], read[0])
                given.append(forward(branch["body"] or [], it, y))
            x = given[-1]
        elif op == "last":
            x = x[:, -1]
        elif op == "every":
            x = x.reshape(-1, x.shape[2])
        else:
            raise ValueError("unknown op " + op)
    return x


def criterion(loss, outputs, labels):
    """The loss that a job asks for."""
    weights = loss["weights"] and torch.tensor(loss["weights"], dtype=torch.get_default_dtype())
    if loss["kind"] == "cross_entropy":
        return F.cross_entropy(outputs, labels, ignore_index=-1, weight=weights, label_smoothing=loss["smoothing"])
    targets = torch.tensor(loss["targets"], dtype=torch.get_default_dtype()).reshape(outputs.shape)
    if loss["kind"] == "sigmoid":
        return F.binary_cross_entropy_with_logits(outputs, targets, pos_weight=weights)
    if loss["kind"] == "squared":
        return F.mse_loss(outputs, targets)
    return F.huber_loss(outputs, targets, delta=loss["delta"])


def write(path, tensors):
    with open(path, "wb") as f:
        for t in tensors:
            t = t.detach().contiguous()
            f.write(ctypes.string_at(t.data_ptr(), 8 * t.numel()))


def length(tensors):
    """Returns the Euclidean length of a vector in parts."""
    return torch.cat([t.detach().flatten() for t in tensors]).norm()


def run(job_path, params_path, input_path, out_path, direction_path=None):
    """Does one job and returns the losses."""
    with open(job_path) as f:
        job = json.load(f)
    global tokens, first  # of the job
    params = build(job, read_floats(params_path))
    first = params[0]
    if job["tokens"] is not None:
        x = tokens = torch.tensor(job["tokens"], dtype=torch.long)
    else:
        x = read_floats(input_path).reshape(job["x"])
    labels = torch.tensor(job["labels"], dtype=torch.long)
    if direction_path:
        direction = build(job, read_floats(direction_path))
        step = 1e-3 * (1 + length(params)) / length(direction)

        def gradient(step):
            moved = [(p + step * d).detach().requires_grad_() for p, d in zip(params, direction)]
            globals()["first"] = moved[0]
            return torch.autograd.grad(criterion(job["loss"], forward(job["layers"], iter(moved), x), labels), moved)

        write(out_path, [(a - b) / (2 * step) for a, b in zip(gradient(step), gradient(-step))])
        return []
    groups = [{"params": [p for p in params if p.dim() > 1]}]
    biases = [p for p in params if p.dim() == 1]
    if biases:
        groups.append({"params": biases, "weight_decay": job["bias_decay"]})
    if job["optimizer"] == "sgd":
        optimizer = torch.optim.SGD(
            groups, lr=job["lr"], momentum=job["momentum"], nesterov=job["nesterov"], weight_decay=job["weight_decay"])
    else:
        adam = {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW}[job["optimizer"]]
        optimizer = adam(groups, lr=job["lr"], betas=job["betas"], eps=job["eps"], weight_decay=job["weight_decay"])
    losses = []
    for _ in range(job["steps"]):
        optimizer.zero_grad()
        loss = criterion(job["loss"], forward(job["layers"], iter(params), x), labels)
        loss.backward()
        if job["clip_norm"] > 0:
            torch.nn.utils.clip_grad_norm_(params, job["clip_norm"])
        optimizer.step()
        losses.append(loss.item())
    write(out_path, params)
    return losses


if __name__ == "__main__":
    assert sys.byteorder == "little"
    for line in sys.stdin:
        print(json.dumps(run(*json.loads(line))), flush=True)
