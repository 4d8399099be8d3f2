"""Lets fedfast train on a partition that PFLlib has written, from its first weights, and trains FedAvg on the same files in a few lines of
PyTorch. ../results/pfllib-rival.md lays the accuracies of PFLlib's own code beside fedfast's.

    python3 generate_FashionMNIST.py noniid - dir          # in PFLlib's dataset folder: FashionMNIST/train/0.npz, ..., test/0.npz, ...
    python3 pfllib.py cap FashionMNIST FashionMNIST-one 10 100   # the first samples of each client's, training and test
    python3 pfllib.py convert FashionMNIST fmnist.npz
    python3 pfllib.py start ../system MODEL.safetensors START.safetensors   # PFLlib's first weights of -t 1, in the names of a fedfast file
    fedfast run --preset fmnist-pfllib --set data.name=npz-images --set data.path=fmnist.npz --set data.partition=natural --set data.alpha=0 \
        --set data.clients=0 --set data.split=100/0/files --set data.min_samples=1 --set rounds=5 --init START.safetensors --json
    python3 pfllib.py fedavg fmnist.npz START.safetensors --rounds 5

PFLlib's files are pickles: convert only those that you have made. Needs numpy, and PyTorch for fedavg. The network, the losses and the way
of measuring follow PFLlib's defaults (commit d832e76): all clients in each round, weights by their training samples, batches of 10
without the last incomplete one, SGD with 0.005. START are first weights: PFLlib's, or those that a fedfast run has
written, such as one with client.lr=1e-30.
"""
import argparse
import json
import pathlib
import struct
import sys

import numpy as np


def convert(folder, out):
    """Joins the clients' files into arrays for data.name = "npz-images"."""
    config = json.loads((folder / "config.json").read_text())
    arrays = {}
    for part, suffix in ("train", ""), ("test", "_test"):
        xs, ys, clients = [], [], []
        for i in range(config["num_clients"]):
            with np.load(folder / part / f"{i}.npz", allow_pickle=True) as f:
                one = f["data"].item()
            xs.append(channels_last(np.asarray(one["x"], np.float32)))
            ys.append(np.asarray(one["y"], np.int64))
            clients.append(np.full(len(ys[-1]), i))
        arrays["x" + suffix], arrays["y" + suffix], arrays["client" + suffix] = map(np.concatenate, (xs, ys, clients))
    pixels = {k: as_bytes(arrays[k]) for k in ("x", "x_test")}
    note = "floats as in the files"
    if all(v is not None for v in pixels.values()):
        arrays.update(pixels)
        note = "bytes: set data.image_mean=[0.5] and data.image_std=[0.5]"
    np.savez_compressed(out, **arrays)
    print(f"{config['num_clients']} clients, {len(arrays['y'])} training and {len(arrays['y_test'])} test samples, {note}")


def cap(folder, out, **most):
    """Copies PFLlib's files with the first samples of each client's, which it has shuffled."""
    for part, n in most.items():
        (out / part).mkdir(parents=True, exist_ok=True)
        for path in (folder / part).glob("*.npz"):
            with np.load(path, allow_pickle=True) as f:
                np.savez_compressed(out / part / path.name, data={k: v[:n] for k, v in f["data"].item().items()})
    (out / "config.json").write_text((folder / "config.json").read_text())


def channels_last(x):
    """Makes (n, channels, height, width) what fedfast reads."""
    return x.transpose(0, 2, 3, 1) if x.ndim == 4 else x


def as_bytes(x):
    """The bytes k of which x is (k/255 - 0.5)/0.5, or None if it is not."""
    k = np.rint((x * 0.5 + 0.5) * 255)
    if k.min() < 0 or k.max() > 255 or np.abs((k / 255 - 0.5) / 0.5 - x).max() > 1e-6:
        return None
    return k.astype(np.uint8)


def start(path):
    """The tensors of a .safetensors file, in its order of names."""
    import torch

    raw = pathlib.Path(path).read_bytes()
    (n,) = struct.unpack("<Q", raw[:8])
    header = json.loads(raw[8 : 8 + n])
    header.pop("__metadata__", None)
    tensors = {}
    for name, t in header.items():
        lo, hi = t["data_offsets"]
        tensors[name] = torch.tensor(np.frombuffer(raw[8 + n + lo : 8 + n + hi], "<f4").reshape(t["shape"]).copy())
    return tensors


def first(system, template, out):
    """Writes a .safetensors file like another with the weights that PFLlib's main.py starts with."""
    import torch

    sys.path.insert(0, str(system))
    torch.manual_seed(0)
    from flcore.trainmodel.models import FedAvgCNN

    own, raw = FedAvgCNN(in_features=1, num_classes=10, dim=1024).state_dict(), bytearray(template.read_bytes())
    (n,) = struct.unpack("<Q", raw[:8])
    for name, t in json.loads(raw[8 : 8 + n]).items():
        if name != "__metadata__":
            (w,) = [w for w in own.values() if list(w.shape) == t["shape"]]  # each has another shape
            lo, hi = t["data_offsets"]
            raw[8 + n + lo : 8 + n + hi] = w.numpy().astype("<f4").tobytes()
    out.write_bytes(raw)


def fedavg(a):
    import torch
    from torch import nn

    torch.set_num_threads(1)
    net = nn.Sequential(
        nn.Conv2d(1, 32, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(32, 64, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(1024, 512), nn.ReLU(), nn.Linear(512, 10)
    )
    own, given = net.state_dict(), list(start(a.start).values())
    for name, w in own.items():  # each has another shape
        (w[...],) = [g for g in given if g.shape == w.shape]
    f = np.load(a.data)

    def tensors(suffix):
        x = torch.tensor(f["x" + suffix]).permute(0, 3, 1, 2)
        x = (x / 255 - 0.5) / 0.5 if x.dtype == torch.uint8 else x
        return x, torch.tensor(f["y" + suffix]), f["client" + suffix]

    x, y, client = tensors("")
    xt, yt, _ = tensors("_test")
    rng = np.random.default_rng(a.seed)
    world = {k: v.clone() for k, v in net.state_dict().items()}
    for r in range(a.rounds + 1):
        net.load_state_dict(world)
        with torch.no_grad():
            z = net(xt)
        print(f"round {r}: test accuracy {100 * (z.argmax(1) == yt).float().mean():.4f} %, loss {nn.functional.cross_entropy(z, yt):.6f}", flush=True)
        if r == a.rounds:
            break
        mean = {k: torch.zeros_like(v) for k, v in world.items()}
        for c in np.unique(client):
            at = np.flatnonzero(client == c)
            net.load_state_dict(world)
            opt = torch.optim.SGD(net.parameters(), lr=a.lr)
            order, batch = rng.permutation(at), min(a.batch, len(at))
            for i in range(0, len(at) - batch + 1, batch):
                opt.zero_grad()
                nn.functional.cross_entropy(net(x[order[i : i + batch]]), y[order[i : i + batch]]).backward()
                opt.step()
            for k, v in net.state_dict().items():
                mean[k] += v * (len(at) / len(client))
        world = mean


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    sub = p.add_subparsers(dest="what", required=True)
    c = sub.add_parser("convert", help="join PFLlib's files into one for fedfast")
    c.add_argument("folder", type=pathlib.Path)
    c.add_argument("out")
    k = sub.add_parser("cap", help="copy the first samples of each client's files")
    for name, kind in ("folder", pathlib.Path), ("out", pathlib.Path), ("train", int), ("test", int):
        k.add_argument(name, type=kind)
    s = sub.add_parser("start", help="write PFLlib's first weights")
    for name in "system", "template", "out":
        s.add_argument(name, type=pathlib.Path)
    t = sub.add_parser("fedavg", help="train FedAvg by PyTorch on such a file")
    t.add_argument("data")
    t.add_argument("start")
    for name, kind, default in ("rounds", int, 5), ("lr", float, 0.005), ("batch", int, 10), ("seed", int, 0):
        t.add_argument("--" + name, type=kind, default=default)
    a = p.parse_args()
    if a.what == "convert":
        convert(a.folder, a.out)
    elif a.what == "cap":
        cap(a.folder, a.out, train=a.train, test=a.test)
    elif a.what == "start":
        first(a.system, a.template, a.out)
    else:
        fedavg(a)


if __name__ == "__main__":
    main()
