"""Does one round of FedTP with PyTorch in float64 and writes what it comes to.

Started by fedtp_test.go with JOB.json OUT.json. JOB.json holds
  kernel, heads        of the network: patches, positions, residual blocks of layer norm and attention, mean, dense
  names, shapes, values  the network's parameters, flat
  projections          names of those that the hypernetwork makes, in its order
  layers               list of {"weight": [outputs][inputs], "bias"} of the hypernetwork
  embeddings           one per client of the round
  clients              list of {"x": [samples][channels][height][width] flat, "labels"}
  size                 height and width of an image of one channel
  lr, momentum, steps, hyper_lr
OUT.json holds values, layers and embeddings as they are after the round, and sent: the weights that were made.
"""
import json
import sys

import torch
import torch.nn.functional as F

torch.set_num_threads(1)
torch.set_default_dtype(torch.float64)


class Hypernetwork(torch.nn.Module):
    """An MLP with a linear head for each layer of attention."""

    def __init__(self, layers, shapes):
        super().__init__()
        self.shapes = shapes
        self.body = torch.nn.ModuleList(linear(l["weight"], l["bias"]) for l in layers[:-1])
        self.heads = torch.nn.ModuleList()
        at, last = 0, layers[-1]
        for rows, columns in shapes:
            end = at + rows * columns
            self.heads.append(linear(last["weight"][at:end], last["bias"][at:end]))
            at = end

    def forward(self, z):
        for i, layer in enumerate(self.body):
            z = layer(z)
            if i < len(self.body) - 1:
                z = F.relu(z)
        return [head(z).reshape(shape) for head, shape in zip(self.heads, self.shapes)]

    def layers(self):
        body = [{"weight": l.weight.tolist(), "bias": l.bias.tolist()} for l in self.body]
        weight, bias = torch.cat([h.weight for h in self.heads]), torch.cat([h.bias for h in self.heads])
        return body + [{"weight": weight.tolist(), "bias": bias.tolist()}]


def numbers(values):
    return torch.tensor(values, dtype=torch.float64)


def linear(weight, bias):
    weight = numbers(weight)
    layer = torch.nn.Linear(weight.shape[1], weight.shape[0])
    with torch.no_grad():
        layer.weight.copy_(weight)
        layer.bias.copy_(numbers(bias))
    return layer


def network(job, params, x):
    it = iter(params.values())
    x = F.conv2d(x, next(it), next(it), stride=job["kernel"]).flatten(2).transpose(1, 2)
    x = x + next(it)
    for _ in job["projections"]:
        gain, shift = next(it), next(it)
        y = F.layer_norm(x, gain.shape, gain, shift).transpose(0, 1)
        weights = [next(it) for _ in range(4)]
        y, _ = F.multi_head_attention_forward(y, y, y, y.shape[2], job["heads"], weights[0], weights[1], None, None, False, 0.0,
                                              weights[2], weights[3], need_weights=False)
        x = x + y.transpose(0, 1)
    return F.linear(x.mean(1), next(it), next(it))


def train(job, params, client):
    """Takes the client's local steps from the parameters and returns new ones."""
    params = {name: p.detach().clone().requires_grad_(True) for name, p in params.items()}
    optimizer = torch.optim.SGD(params.values(), lr=job["lr"], momentum=job["momentum"])
    x, labels = numbers(client["x"]).reshape(-1, 1, job["size"], job["size"]), torch.tensor(client["labels"])
    for _ in range(job["steps"]):
        optimizer.zero_grad()
        F.cross_entropy(network(job, params, x), labels).backward()
        optimizer.step()
    return {name: p.detach() for name, p in params.items()}


def main():
    with open(sys.argv[1]) as f:
        job = json.load(f)
    shared = {name: numbers(v).reshape(s) for name, s, v in zip(job["names"], job["shapes"], job["values"])}
    shapes = [shared[name].shape for name in job["projections"]]
    hyper, embeddings = Hypernetwork(job["layers"], shapes), numbers(job["embeddings"]).requires_grad_(True)
    learned = list(hyper.parameters()) + [embeddings]
    examples = sum(len(c["labels"]) for c in job["clients"])
    mean = {name: torch.zeros_like(p) for name, p in shared.items()}
    gradients, sent = [torch.zeros_like(p) for p in learned], []
    for i, client in enumerate(job["clients"]):
        share = len(client["labels"]) / examples
        made = hyper(embeddings[i])
        sent.append(torch.cat([m.detach().flatten() for m in made]).tolist())
        after = train(job, {**shared, **dict(zip(job["projections"], made))}, client)
        for name in mean:
            mean[name] += share * after[name]
        change = [m.detach() - after[name] for m, name in zip(made, job["projections"])]
        for g, new in zip(gradients, torch.autograd.grad(made, learned, grad_outputs=change)):
            g += share * new
    with torch.no_grad():
        for p, g in zip(learned, gradients):
            p -= job["hyper_lr"] * g
    with open(sys.argv[2], "w") as f:
        json.dump({"values": [mean[name].flatten().tolist() for name in job["names"]], "layers": hyper.layers(),
                   "embeddings": embeddings.tolist(), "sent": sent}, f)


main()
