"""The networks that fedfast trains, built with PyTorch's own layers.

A network is a list of layers in the words of a study file's [[model.layers]], so that a composed network is built by the same code. The
named ones are written down from their papers, as nn/models has them; fedfast checks before it measures that both compute the same loss
from the same weights.

Image networks read [batch, channels, height, width], channels last in memory, and give [batch, classes]. Sequence networks read tokens
[steps, batch], time first because PyTorch's LSTM is fastest so, and give [batch, classes] or, with an output at every step,
[steps * batch, classes].
"""
import functools

import json

import torch
import torch.nn.functional as F
from torch import nn


def conv(filters, kernel, padding="valid", **more):
    return dict(type="conv", filters=filters, kernel=kernel, padding=padding, **more)


def dense(units=0):
    return dict(type="dense", units=units)


def pool(size, **more):
    return dict(type="maxpool", size=size, **more)


def dropout(rate):
    return dict(type="dropout", rate=rate)


RELU = dict(type="relu")


def embedding(size, **more):
    return dict(type="embedding", size=size, **more)


def lstm(hidden, **more):
    return dict(type="lstm", hidden=hidden, **more)


def femnist_pair(kernel, padding, width, rates):
    """The two-convolution networks of FedEx and Reddi et al.: one pool, dropout around a dense layer."""
    return [conv(32, kernel, padding), RELU, conv(64, kernel, padding), RELU, pool(2), dropout(rates[0]), dense(width), RELU, dropout(rates[1]), dense()]


def leaf_femnist(width, padding="same"):
    return [conv(32, 5, padding), RELU, pool(2), conv(64, 5, padding), RELU, pool(2), dense(width), RELU, dense()]


def fedex_cifar():
    blocks = []
    for filters in (32, 64, 64):
        blocks += [conv(filters, 3, "same"), RELU, pool(2)]
    return blocks + [dropout(0), dense(64), RELU, dropout(0), dense()]


def mcmahan_cifar():
    norm = dict(type="lrn", radius=4, bias=1, alpha=0.001 / 9, beta=0.75)
    wide = pool(3, stride=2, padding="same")
    return [conv(64, 5, "same"), RELU, wide, norm, conv(64, 5, "same"), RELU, norm, wide, dense(384), RELU, dense(192), RELU, dense()]


def fedtune_four():
    layers = []
    for first, second in ((32, 64), (64, 64)):
        layers += [conv(first, 3, "same"), RELU, conv(second, 3, "same"), RELU, pool(2)]
    return layers + [dense(512), RELU, dense()]


def norm(channels):
    return dict(type="groupnorm", groups=channels // 8)


def plain(filters, kernel=1, **more):
    return conv(filters, kernel, pad=kernel // 2, no_bias=True, **more)


def mobilenet_small():
    relu, swish = RELU, dict(type="hardswish")
    layers, channels = [plain(16, 3), norm(16), swish], 16
    for kernel, wide, out, squeeze, act, stride in (
            (3, 16, 16, 8, relu, 2), (3, 72, 24, 0, relu, 2), (3, 88, 24, 0, relu, 1), (5, 96, 40, 24, swish, 2), (5, 240, 40, 64, swish, 1),
            (5, 240, 40, 64, swish, 1), (5, 120, 48, 32, swish, 1), (5, 144, 48, 40, swish, 1), (5, 288, 96, 72, swish, 2), (5, 576, 96, 144, swish, 1),
            (5, 576, 96, 144, swish, 1)):
        body = [] if wide == channels else [plain(wide), norm(wide), act]
        body += [dict(type="depthwise", kernel=kernel, stride=stride, pad=kernel // 2, no_bias=True), norm(wide), act]
        body += [dict(type="squeeze", units=squeeze)] if squeeze else []
        body += [plain(out), norm(out)]
        layers += [dict(type="residual", body=body)] if stride == 1 and out == channels else body
        channels = out
    return layers + [plain(576), norm(576), swish, dict(type="avgpool"), dense(1024), swish, dropout(0.2), dense()]


def mbv3(stages, plain_stage=0, head=()):
    """Stages are (width, depth, kernel, expansion, stride); all but one have squeeze-and-excitation."""
    swish = dict(type="hardswish")
    layers, channels = [plain(16, 3), norm(16), swish], 16
    for stage, (width, depth, kernel, expansion, stride) in enumerate(stages):
        for block in range(depth):
            wide = expansion * channels
            body = [plain(wide), norm(wide), swish] if expansion > 1 else []
            body += [dict(type="depthwise", kernel=kernel, stride=1 if block else stride, pad=kernel // 2, no_bias=True), norm(wide), swish]
            body += [dict(type="squeeze", units=eighths(wide // 4))] if stage != plain_stage else []
            body += [plain(width), norm(width)]
            layers += [dict(type="residual", body=body)] if block else body
            channels = width
    return layers + list(head or [dict(type="avgpool")]) + [dense()]


def mbv3_paper():
    swish = dict(type="hardswish")
    head = [plain(960), norm(960), swish, dict(type="avgpool"), dense(1280), swish]
    return mbv3([(24, 2, 5, 1, 2), (40, 2, 5, 5, 2), (80, 4, 5, 5, 2), (112, 4, 5, 5, 1), (160, 4, 5, 5, 2)], plain_stage=1, head=head)


def eighths(units):
    near = (units + 4) // 8 * 8
    return near if 10 * near >= 9 * units else near + 8


def transformer(blocks, width, attention, take):
    """Blocks of a transformer; what one step needs is taken before the last block's dense layers."""
    norm, layers = dict(type="layernorm"), []
    for i in range(blocks):
        layers.append(dict(type="residual", body=[norm, attention]))
        if i == blocks - 1:
            layers.append(dict(type="steps", take=take))
        layers.append(dict(type="residual", body=[norm, dense(4 * width), dict(type="gelu"), dense(width)]))
    return layers + [norm]


def char_gpt():
    attention = dict(type="attention", heads=4, causal=True)
    return [embedding(128), dict(type="positions")] + transformer(4, 128, attention, "last") + [dict(type="tied")]


def vit_tiny():
    layers = [conv(128, 4, stride=4), dict(type="sequence", class_token=True), dict(type="positions")]
    return layers + transformer(6, 128, dict(type="attention", heads=4), "first") + [dense()]


def resnet18(norm):
    layers, channels = [conv(64, 3, "same", no_bias=True), norm, RELU], 64
    for filters in (64, 128, 256, 512):
        for block in range(2):
            stride = 2 if block == 0 and filters != channels else 1
            body = [conv(filters, 3, pad=1, stride=stride, no_bias=True), norm, RELU, conv(filters, 3, pad=1, no_bias=True), norm]
            shortcut = [conv(filters, 1, stride=stride, no_bias=True), norm] if stride > 1 else []
            layers += [dict(type="residual", body=body, shortcut=shortcut), RELU]
            channels = filters
    return layers + [dict(type="avgpool"), dense()]


NETWORKS = {
    "logistic": [dense()],
    "leaf-femnist-cnn": leaf_femnist(2048),
    "reddi-emnist-cnn": femnist_pair(3, "valid", 128, (0.25, 0.5)),
    "fedex-femnist-cnn": femnist_pair(3, "valid", 1024, (0, 0)),
    "fedex-cifar-cnn": fedex_cifar(),
    "mcmahan-cifar-cnn": mcmahan_cifar(),
    "fedtune-2conv2dense": leaf_femnist(512),
    "fedtune-4conv2dense": fedtune_four(),
    "pfllib-cnn": leaf_femnist(512, "valid"),
    "resnet18": resnet18(dict(type="batchnorm")),
    "resnet18-gn": resnet18(dict(type="groupnorm", groups=2)),
    "mobilenet-small": mobilenet_small(),
    "mbv3-cifar": mbv3([(32, 2, 5, 4, 2), (48, 3, 5, 4, 2), (80, 3, 5, 4, 1), (96, 2, 5, 4, 2)]),
    "mbv3-cifar-mid": mbv3([(32, 1, 3, 3, 2), (48, 2, 3, 3, 2), (64, 2, 3, 3, 1), (80, 1, 3, 3, 2)]),
    "mbv3-paper32": mbv3_paper(),
    "darts-cifar": [plain(24, 3), norm(24), dict(type="cells", channels=8, cells=3), dict(type="avgpool"), dense()],
    "vit-tiny": vit_tiny(),
    "leaf-char-lstm": [embedding(8), lstm(256, layers=2, biases=1, forget_bias=1), dense()],
    "fedex-char-lstm": [embedding(8, zero_padding=True), lstm(256, layers=2), dense()],
    "tff-char-lstm": [embedding(8), lstm(256, layers=2, biases=1, output="every"), dense()],
    "so-nwp-lstm": [embedding(96), lstm(670, biases=1, output="every"), dense(96), dense()],
    "char-gpt": char_gpt(),
    "so-tag-lr": [dense()],
}


class PointConv(nn.Conv2d):
    """A convolution 1x1 as a product over the pixels."""

    def forward(self, x):
        s = self.stride[0]
        return F.linear(x.permute(0, 2, 3, 1)[:, ::s, ::s], self.weight.flatten(1), self.bias).permute(0, 3, 1, 2)


@functools.cache
def wrong_points():
    """Whether this PyTorch computes convolutions 1x1 wrongly.

    oneDNN 3.7.2 does where it reads the size of the third-level cache as 0, as in some virtual machines: it takes blocks of 48 channels, and
    of 512 it gets the last 32 wrong (for 1024 it divides by zero). PyTorch's own convolution, PyTorch 1.13 and float64 agree with each other.
    """
    with torch.no_grad(), torch.random.fork_rng():
        conv = PointConv(256, 512, 1, stride=2, bias=False)
        x = torch.rand(2, 256, 8, 8).contiguous(memory_format=torch.channels_last)
        return not torch.allclose(conv(x), F.conv2d(x, conv.weight, stride=2), rtol=1e-3, atol=1e-3)


class SamePool(nn.Module):
    """A max-pool with the padding that TensorFlow calls same."""

    def __init__(self, size, stride):
        super().__init__()
        self.size, self.stride = size, stride

    def forward(self, x):
        need = [max((-(-n // self.stride) - 1) * self.stride + self.size - n, 0) for n in x.shape[2:]]
        if need == [1, 1] or need == [0, 0]:  # windows that reach over the end only
            return F.max_pool2d(x, self.size, self.stride, ceil_mode=True)
        if need[0] % 2 == 0 and need[1] % 2 == 0:
            return F.max_pool2d(x, self.size, self.stride, padding=(need[0] // 2, need[1] // 2))
        pads = []
        for n in reversed(need):
            pads += [n // 2, n - n // 2]
        return F.max_pool2d(F.pad(x, pads, value=-float("inf")), self.size, self.stride)


class Residual(nn.Module):
    def __init__(self, body, shortcut):
        super().__init__()
        self.body, self.shortcut = body, shortcut

    def forward(self, x):
        return self.body(x) + self.shortcut(x)


class Squeeze(nn.Module):
    """Shares of channels by their means."""

    def __init__(self, channels, units):
        super().__init__()
        self.fc1, self.fc2 = nn.Conv2d(channels, units, 1), nn.Conv2d(units, channels, 1)

    def forward(self, x):
        return x * F.hardsigmoid(self.fc2(F.relu(self.fc1(F.adaptive_avg_pool2d(x, 1)), inplace=True)))


def plain_norm(channels):
    return nn.GroupNorm(channels // 8, channels, affine=False)


def point(inside, channels, stride=1):
    """ReLU, a convolution 1x1 and normalisation."""
    return nn.Sequential(nn.ReLU(), nn.Conv2d(inside, channels, 1, stride, bias=False), plain_norm(channels))


class Operations(nn.Module):
    """DARTS' operations on an edge but for none; a skip that halves is one convolution."""

    def __init__(self, channels, stride):
        super().__init__()

        def depth(kernel, dilation, step):
            conv = nn.Conv2d(channels, channels, kernel, step, dilation * (kernel - 1) // 2, dilation, groups=channels, bias=False)
            return [nn.ReLU(), conv, nn.Conv2d(channels, channels, 1, bias=False), plain_norm(channels)]

        self.all = nn.ModuleList([
            nn.Sequential(nn.MaxPool2d(3, stride, 1), plain_norm(channels)),
            nn.Sequential(nn.AvgPool2d(3, stride, 1, count_include_pad=False), plain_norm(channels)),
            nn.Identity() if stride == 1 else point(channels, channels, stride),
            nn.Sequential(*depth(3, 1, stride), *depth(3, 1, 1)),
            nn.Sequential(*depth(5, 1, stride), *depth(5, 1, 1)),
            nn.Sequential(*depth(3, 2, stride)),
            nn.Sequential(*depth(5, 2, stride)),
        ])


class Shares(nn.Module):
    """The weights of an edge's operations, none the first, as a module: their place among the parameters is behind the operations."""

    def __init__(self):
        super().__init__()
        self.alpha = nn.Parameter(torch.zeros(8))

    def forward(self):
        return torch.softmax(self.alpha, 0)


class Cell(nn.Module):
    def __init__(self, before, last, channels, halved, halves, alphas):
        super().__init__()
        self.last, self.before = point(last, channels), point(before, channels, 2 if halved else 1)
        self.edges = nn.ModuleList()
        for node in range(2, 6):
            for given in range(node):
                edge = Operations(channels, 2 if halves and given < 2 else 1)
                edge.shares = alphas.setdefault((halves, node, given), Shares())
                self.edges.append(edge)

    def forward(self, before, last):
        nodes, edges = [self.before(before), self.last(last)], iter(self.edges)
        for _ in range(4):
            total = 0
            for x in list(nodes):
                edge = next(edges)
                shares = edge.shares()
                for k, op in enumerate(edge.all):
                    total = total + shares[k + 1] * op(x)
            nodes.append(total)
        return torch.cat(nodes[2:], 1)


class Cells(nn.Module):
    """A supernet of DARTS behind its stem."""

    def __init__(self, stem, channels, count):
        super().__init__()
        self.cells, alphas = nn.ModuleList(), {}
        before, last, halved = stem, stem, False
        for i in range(count):
            halves = i in (count // 3, 2 * count // 3)
            channels *= 2 if halves else 1
            self.cells.append(Cell(before, last, channels, halved, halves, alphas))
            before, last, halved = last, 4 * channels, halves
        self.channels = last

    def forward(self, x):
        before = last = x
        for cell in self.cells:
            before, last = last, cell(before, last)
        return last


class RowNorm(nn.Module):
    """A normalisation of the channels of each step, pixel or vector."""

    def __init__(self, channels, center):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(channels))
        self.bias = nn.Parameter(torch.zeros(channels)) if center else None

    def forward(self, x):
        image = x.dim() == 4
        if image:
            x = x.permute(0, 2, 3, 1)
        if self.bias is not None:
            y = F.layer_norm(x, self.weight.shape, self.weight, self.bias)
        else:
            y = x * torch.rsqrt(x.square().mean(-1, keepdim=True) + torch.finfo(torch.float32).eps) * self.weight
        return y.permute(0, 3, 1, 2) if image else y


class Attention(nn.Module):
    """Self-attention, samples first, by PyTorch's fused function where it has one."""

    def __init__(self, width, heads, causal):
        super().__init__()
        self.in_proj, self.out_proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.heads, self.causal, self.mask = heads, causal, None

    def forward(self, x):
        batch, steps, width = x.shape
        q, k, v = self.in_proj(x).view(batch, steps, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        if hasattr(F, "scaled_dot_product_attention"):
            y = F.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        else:
            scores = (q * (width // self.heads) ** -0.5) @ k.transpose(-2, -1)
            if self.causal:
                if self.mask is None:
                    self.mask = torch.full((steps, steps), -float("inf")).triu(1)
                scores = scores + self.mask
            y = scores.softmax(-1) @ v
        return self.out_proj(y.transpose(1, 2).reshape(batch, steps, width))


class Sequence(nn.Module):
    """The pixels of an image, behind a class token."""

    def __init__(self, channels, token):
        super().__init__()
        self.token = nn.Parameter(torch.zeros(1, 1, channels)) if token else None

    def forward(self, x):
        x = x.flatten(2).transpose(1, 2)
        return x if self.token is None else torch.cat((self.token.expand(x.shape[0], -1, -1), x), 1)


class Positions(nn.Module):
    def __init__(self, steps, channels):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(steps, channels))

    def forward(self, x):
        return x + self.weight


class Steps(nn.Module):
    def __init__(self, take):
        super().__init__()
        self.take = take

    def forward(self, x):
        return x.mean(1) if self.take == "mean" else x[:, 0 if self.take == "first" else -1]


class SamplesFirst(nn.Module):
    """An embedding of tokens [steps, batch] for attention, which wants samples first."""

    def __init__(self, table):
        super().__init__()
        self.table = table

    def forward(self, x):
        return self.table(x.t().contiguous())


class StepsFirst(nn.Module):
    """Outputs at every step, in the order of labels."""

    def forward(self, x):
        return x.transpose(0, 1).flatten(0, 1)


class Tied(nn.Module):
    """Outputs by the table of the embedding."""

    def __init__(self, table):
        super().__init__()
        self.table = [table]  # no module of this one

    def forward(self, x):
        return F.linear(x, self.table[0].weight)


class Mean(nn.Module):
    """The mean over the image."""

    def forward(self, x):
        return x.mean((2, 3))


class Normalize(torch.autograd.Function):
    """y = x d^-0.75 with d = bias + alpha times the sum of squares over the window; band holds alpha where two channels share a window."""

    @staticmethod
    def forward(ctx, x, band, bias):
        with torch.autocast("cpu", enabled=False):  # in the precision of what comes in
            band = band.to(x.dtype)
            d = F.conv2d(x * x, band, bias.to(x.dtype))
        root = d.rsqrt()
        power = root * root.sqrt()
        y = x * power
        ctx.save_for_backward(x, y, d, power, band)
        return y

    @staticmethod
    def backward(ctx, g):
        x, y, d, power, band = ctx.saved_tensors
        return torch.addcmul(g * power, x, F.conv2d(g * y / d, band), value=-1.5), None, None


class FastLRN(nn.Module):
    """Local response normalisation with beta 0.75 as a convolution 1x1: with PyTorch's own the network trains 0.6 times as fast."""

    def __init__(self, channels, radius, alpha, bias):
        super().__init__()
        i = torch.arange(channels)
        near = (i[:, None] - i[None]).abs() <= radius
        self.register_buffer("band", (alpha * near).float().view(channels, channels, 1, 1))
        self.register_buffer("bias", torch.full((channels,), float(bias)))

    def forward(self, x):
        return Normalize.apply(x, self.band, self.bias)


class Recurrent(nn.Module):
    """PyTorch's LSTM or GRU, of whose outputs the last or all go on."""

    def __init__(self, kind, width, spec):
        super().__init__()
        self.every = spec.get("output") == "every"
        self.cells = kind(width, spec["hidden"], spec.get("layers", 1))
        if spec.get("biases", 2) == 1:
            # The second bias stays what it is: a constant on the forget gates, or zero.
            for name, p in self.cells.named_parameters():
                if name.startswith("bias_hh"):
                    p.requires_grad_(False)
                    p.zero_()
                    p[spec["hidden"]:2 * spec["hidden"]] = float(spec.get("forget_bias", 0))

    def forward(self, x):
        y, _ = self.cells(x)
        return y if self.every else y[-1]


class Builder:
    """Binds layers to the shape that reaches them: (channels, height, width), or (features,)."""

    def __init__(self, shape, vocab, classes, steps):
        self.shape, self.vocab, self.classes, self.steps = shape, vocab, classes, steps
        self.samples_first, self.table = False, None

    def chain(self, specs):
        return nn.Sequential(*[m for m in map(self.layer, specs) if m is not None])

    def flat(self, modules):
        """Flattens an image before the first dense layer."""
        if len(self.shape) > 1:
            modules.append(nn.Flatten())
            n = 1
            for d in self.shape:
                n *= d
            self.shape = (n,)
        return modules

    def after(self, size, stride, padding):
        """The image after a window moved over it."""
        c, h, w = self.shape
        self.shape = (c, *((n + 2 * padding - size) // stride + 1 for n in (h, w)))

    def layer(self, spec):
        kind = spec["type"]
        make = getattr(self, "make_" + kind, None)
        if make is None:
            raise ValueError("no layer of type %s" % kind)
        return make(spec)

    def make_conv(self, s):
        channels, groups = self.shape[0], s.get("groups", 1)
        stride, dilation, padding = self.window(s)
        plain = s["kernel"] == 1 and padding == 0 and groups == 1
        make = PointConv if plain and wrong_points() else nn.Conv2d
        more = dict() if make is PointConv else dict(dilation=dilation, groups=groups)
        m = make(channels, s["filters"], s["kernel"], stride, padding, bias=not s.get("no_bias"), **more)
        self.shape = (s["filters"], *self.shape[1:])
        return m

    def window(self, s):
        """Goes over to the image behind a convolution; returns its stride, dilation and padding."""
        stride, dilation, padding = s.get("stride", 1), s.get("dilation", 1), s.get("pad", 0)
        wide = (s["kernel"] - 1) * dilation + 1
        if s.get("padding") == "same":
            if stride != 1 or wide % 2 == 0:
                raise ValueError("a same convolution with stride %d that reaches over %d pixels" % (stride, wide))
            padding = wide // 2
        self.after(wide, stride, padding)
        return stride, dilation, padding

    def make_dense(self, s):
        modules = self.flat([])
        units = s.get("units") or self.classes
        modules.append(nn.Linear(self.shape[0], units))
        self.shape = (units,)
        return nn.Sequential(*modules) if len(modules) > 1 else modules[0]

    def make_maxpool(self, s):
        size, stride = s["size"], s.get("stride") or s["size"]
        if s.get("padding") == "same":
            self.shape = (self.shape[0], *(-(-n // stride) for n in self.shape[1:]))
            return SamePool(size, stride)
        self.after(size, stride, s.get("pad", 0))
        return nn.MaxPool2d(size, stride, s.get("pad", 0))

    def make_avgpool(self, s):
        if not s.get("size"):
            self.shape = (self.shape[0],)
            return Mean()
        size, stride = s["size"], s.get("stride") or s["size"]
        self.after(size, stride, s.get("pad", 0))
        return nn.AvgPool2d(size, stride, s.get("pad", 0), count_include_pad=False)

    def make_lrn(self, s):
        bias, beta = s.get("bias", 1), s.get("beta", 0.75)
        if beta == 0.75:
            return FastLRN(self.shape[0], s["radius"], s["alpha"], bias)
        size = 2 * s["radius"] + 1
        return nn.LocalResponseNorm(size, alpha=s["alpha"] * size, beta=beta, k=bias)

    def make_groupnorm(self, s):
        return nn.GroupNorm(s["groups"], self.shape[0], affine=not s.get("no_affine"))

    def make_batchnorm(self, s):
        if self.steps or s.get("cumulative"):
            raise ValueError("batch normalization of a sequence, or with statistics of all batches")
        make = nn.BatchNorm2d if len(self.shape) > 1 else nn.BatchNorm1d
        return make(self.shape[0], s.get("eps", 1e-5), s.get("momentum", 0.1), not s.get("no_affine"))

    def make_attention(self, s):
        if s.get("mask_padding"):
            raise ValueError("attention that masks padding")
        return Attention(self.shape[0], s["heads"], bool(s.get("causal")))

    def make_sequence(self, s):
        c, h, w = self.shape
        token = bool(s.get("class_token"))
        self.shape, self.steps = (c,), h * w + token
        return Sequence(c, token)

    def make_positions(self, s):
        return Positions(self.steps, self.shape[0])

    def make_steps(self, s):
        if s.get("mask_padding"):
            raise ValueError("steps with mask_padding are not built here")
        self.samples_first = False
        return Steps(s.get("take", "last"))

    def make_tied(self, s):
        return Tied(self.table)

    def make_depthwise(self, s):
        channels = self.shape[0]
        stride, dilation, padding = self.window(s)
        return nn.Conv2d(channels, channels, s["kernel"], stride, padding, dilation, groups=channels, bias=not s.get("no_bias"))

    def make_squeeze(self, s):
        return Squeeze(self.shape[0], s["units"])

    def make_cells(self, s):
        m = Cells(self.shape[0], s["channels"], s["cells"])
        self.shape = (m.channels, self.shape[1] // 4, self.shape[2] // 4)
        return m

    def make_layernorm(self, s):
        return RowNorm(self.shape[0], True)

    def make_rmsnorm(self, s):
        return RowNorm(self.shape[0], False)

    def make_gelu(self, s):
        return nn.GELU(approximate=s.get("approximate", "none"))

    def make_silu(self, s):
        return nn.SiLU(inplace=True)

    def make_hardswish(self, s):
        return nn.Hardswish(inplace=True)

    def make_hardsigmoid(self, s):
        return nn.Hardsigmoid(inplace=True)

    def make_sigmoid(self, s):
        return nn.Sigmoid()

    def make_tanh(self, s):
        return nn.Tanh()

    def make_relu(self, s):
        return nn.ReLU(inplace=True)

    def make_flatten(self, s):
        modules = self.flat([])
        return modules[0] if modules else None

    def make_dropout(self, s):
        return nn.Dropout(s["rate"]) if s["rate"] > 0 else None

    def make_residual(self, s):
        before = self.shape
        body = self.chain(s["body"])
        after, self.shape = self.shape, before
        shortcut = self.chain(s.get("shortcut", []))
        self.shape = after
        return Residual(body, shortcut)

    def make_embedding(self, s):
        self.shape = (s["size"],)
        self.table = nn.Embedding(self.vocab, s["size"], padding_idx=0 if s.get("zero_padding") else None)
        return SamplesFirst(self.table) if self.samples_first else self.table

    def make_lstm(self, s):
        return self.recurrent(nn.LSTM, s)

    def make_gru(self, s):
        return self.recurrent(nn.GRU, s)

    def recurrent(self, kind, s):
        m = Recurrent(kind, self.shape[0], s)
        self.shape = (s["hidden"],)
        return m


def build(job):
    """Builds the network of a job: its name or its layers, for its input and classes."""
    layers = job.get("layers") or NETWORKS.get(job["name"])
    if layers is None:
        raise ValueError("no network is called %s" % job["name"])
    with torch.no_grad():
        builder = Builder(tuple(job["shape"]), job["vocab"], job["classes"], job["steps"])
        builder.samples_first = any(word in json.dumps(layers) for word in ('"attention"', '"steps"'))
        net = builder.chain(layers)
        if builder.samples_first and job["vocab"]:  # with outputs at every step
            net.append(StepsFirst())
        elif job["vocab"] and job["labels"] > 1:
            net.append(nn.Flatten(0, 1))
    if len(job["shape"]) == 3:
        net = net.to(memory_format=torch.channels_last)  # faster here than PyTorch's default for every network above
    return net


def examples(job, count):
    """Draws the inputs and labels of count examples."""
    labels = torch.randint(0, job["classes"], (count, job["labels"]))
    if job["vocab"]:
        return torch.randint(0, job["vocab"], (job["steps"], count)), labels
    x = torch.rand(count, *job["shape"])
    return (x.contiguous(memory_format=torch.channels_last) if x.dim() == 4 else x), labels


def pick(job, x, labels, index):
    """Takes the examples at index out of many, the labels in the order of the network's outputs."""
    if job["vocab"]:
        return x.index_select(1, index), labels.index_select(0, index).t().flatten()
    return x.index_select(0, index), labels.index_select(0, index).flatten()


def trainable(net):
    return [p for p in net.parameters() if p.requires_grad]


def load(net, path):
    """Fills the trainable parameters and running statistics from a file of little-endian float32, in their order."""
    params = []
    for m in net.modules():
        params += [p for p in m._parameters.values() if p is not None and p.requires_grad]
        params += [b for name, b in m._buffers.items() if name in ("running_mean", "running_var")]
    with open(path, "rb") as f:
        values = torch.frombuffer(bytearray(f.read()), dtype=torch.float32)
    if values.numel() != sum(p.numel() for p in params):
        raise ValueError("%d parameters, fedfast has %d" % (sum(p.numel() for p in params), values.numel()))
    at = 0
    with torch.no_grad():
        for p in params:
            p.copy_(values[at:at + p.numel()].view(p.shape))
            at += p.numel()
