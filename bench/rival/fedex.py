"""Runs the public code of FedEx's authors on arms that fedfast has run, and lays the curves side by side.

    git clone https://github.com/mkhodak/FedEx && git -C FedEx checkout 150fac03857a3239429734d59d319da71191872e
    fedfast repro fedex-rival/femnist --data DIR --seeds 5
    python3 fedex.py run FedEx DIR/femnist repro/fedex-rival-femnist-*/*.jsonl --out rival
    python3 fedex.py compare rival repro/fedex-rival-*/*.jsonl

Their files are imported as they are. What they ask of a GPU is answered by the CPU (`without_gpu`), and tensorboardX, which only their
wrapper uses, is stood in for. It needs PyTorch, numpy and scipy, for CIFAR-10 also torchvision (python3-torch, python3-scipy and
python3-torchvision of Debian 12).

glibc's malloc gives large tensors back to the system and faults them in anew in every step, which takes most of the time on FEMNIST; tell it to
keep them: MALLOC_MMAP_THRESHOLD_=4294967296 MALLOC_TRIM_THRESHOLD_=8589934592.

An arm is taken from fedfast's file of metrics: the server's and the client's hyperparameters, under FedEx all of its configurations and the
discount of its baseline, the cohort and the rounds. The first weights, the cohorts and the order of batches are drawn by PyTorch, numpy and Python from
the seed, so that two runs of one seed agree in what they train, not in the draws: what can be compared is means over seeds.
"""
import argparse
import contextlib
import glob
import gzip
import json
import math
import os
import pathlib
import random
import re
import sys
import tempfile
import time
import types

import numpy as np
import torch

COMMIT = "150fac03857a3239429734d59d319da71191872e"


def without_gpu():
    """Answers the calls for GPUs of the authors' code with the CPU."""
    torch.Tensor.cuda = lambda self, *args, **kwargs: self
    torch.Tensor.pin_memory = lambda self, *args, **kwargs: self
    torch.nn.Module.cuda = lambda self, *args, **kwargs: self
    torch.cuda.get_rng_state = lambda *args: None
    torch.cuda.set_rng_state = lambda *args: None
    sys.modules.setdefault("tensorboardX", types.SimpleNamespace(SummaryWriter=None))


def read(path):
    """The seeds of a file of metrics, each its head, its one arm and its end."""
    for seed in pathlib.Path(path).read_text().split('{"kind":"head"')[1:]:
        head, *arms, end = [json.loads(line) for line in ('{"kind":"head"' + seed).splitlines()]
        if len(arms) != 1:
            sys.exit(f"{path}: {len(arms)} arms; one arm per seed is wanted, as `fedfast repro fedex-rival` leaves them")
        yield head, arms[0], end


def setting(config, key):
    """A top-level key of a study file."""
    for line in config.splitlines():
        if line.startswith("["):
            break
        name, _, value = line.partition("=")
        if name.strip() == key:
            return json.loads(value)
    sys.exit(f"the study file has no {key}")


def load(path):
    with gzip.open(path, "rt") if path.endswith(".gz") else open(path) as f:
        return json.load(f)["user_data"]


def femnist(code, data, head, scratch):
    """The authors' loaders of LEAF's files: a writer's training samples, then the test samples."""
    people, least = {}, int(re.search(r"min_samples = (\d+)", head["config"])[1])
    for part in "train", "test":
        for path in sorted(glob.glob(os.path.join(data, part, "*.json*"))):
            for writer, samples in load(path).items():
                people.setdefault(writer, {}).setdefault(part, samples)
    tasks = []
    for writer in sorted(people):
        parts = [people[writer][part] for part in ("train", "test") if part in people[writer]]
        if "train" not in people[writer] or sum(len(p["y"]) for p in parts) < least:
            continue
        x, y = sum((p["x"] for p in parts), []), sum((p["y"] for p in parts), [])
        task = os.path.join(scratch, writer + ".pt")
        torch.save({"X": torch.tensor(x), "Y": torch.tensor(y)}, task)
        loader = code.get_loader(task, iid="iid = true" in head["config"])
        if loader is not None:
            tasks.append(loader)
    return tasks


def cifar10(code, data, head, _):
    """The authors' loaders of a permutation of CIFAR-10's binary files, with their augmentation."""
    from PIL import Image
    from torchvision import transforms

    class Pictures(torch.utils.data.Dataset):
        def __init__(self, pattern, transform):
            raw = []
            for path in sorted(glob.glob(os.path.join(data, pattern))):
                with gzip.open(path) if path.endswith(".gz") else open(path, "rb") as f:
                    raw.append(np.frombuffer(f.read(), np.uint8).reshape(-1, 3073))
            raw = np.concatenate(raw)
            self.labels, self.transform = raw[:, 0].astype(int), transform
            self.pixels = raw[:, 1:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)

        def __len__(self):
            return len(self.labels)

        def __getitem__(self, i):
            return self.transform(Image.fromarray(self.pixels[i])), int(self.labels[i])

    plain = [transforms.ToTensor(), transforms.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])]
    jitter = [transforms.RandomHorizontalFlip(), transforms.RandomCrop(32, 4), transforms.ColorJitter(0.1, 0.1, 0.1, 0.1)]
    train, test = Pictures("data_batch_*.bin*", transforms.Compose(jitter + plain)), Pictures("test_batch.bin*", transforms.Compose(plain))
    clients = head["data"]["clients"]
    order, last = torch.randperm(len(train)), torch.randperm(len(test))
    a, b = len(train) // clients, len(test) // clients
    return [code.get_loader(order[i * a:(i + 1) * a], last[i * b:(i + 1) * b], train, test) for i in range(clients)]


SETS = {"femnist": ("femnist", femnist), "cifar10": ("cifar", cifar10)}


def client(params):
    """The keywords of the authors' `train` for a client's hyperparameters."""
    names = {"lr": "lr", "momentum": "momentum", "weight_decay": "weight_decay", "epochs": "epochs", "batch": "batch", "mu": "mu", "dropout": "dropout"}
    whole = ("epochs", "batch")
    return {to: (int if to in whole else float)(params["client." + name]) for name, to in names.items() if "client." + name in params}


def error(code, model, tasks):
    """The model's error on all clients' test samples, without a draw that what follows would miss."""
    state = torch.get_rng_state()
    errors, sizes = zip(*((code.test(model, x, y)[0], len(y)) for x, y in (task("test") for task in tasks)))
    torch.set_rng_state(state)
    return float(np.average(errors, weights=sizes))


def run(code, hyper, tasks, head, arm, tested):
    """One arm by the authors' Server and FedEx."""
    params, rounds = arm["params"], len(arm["personalized"])
    losses = []

    def prox(model, criterion=torch.nn.CrossEntropyLoss(), mu=0.0, was=code.get_prox):
        def noted(*args, **kwargs):
            loss = criterion(*args, **kwargs)
            losses[-1].append(float(loss.detach()))
            return loss
        return was(model, noted, mu)

    def train(model, x, y, **kwargs):
        losses.append([])
        sizes.append(len(y))
        return code.train(model, x, y, **kwargs)

    code_prox, code.get_prox = code.get_prox, prox
    configs = [client(dict(zip(arm["config_params"], c))) for c in arm["configs"]] if arm.get("configs") else [client(params)]
    model = code.CNN()
    server = hyper.Server(
        model, tasks, train, lambda *args: code.test(*args)[0], batch=setting(head["config"], "cohort"),
        lr=params["server.lr"], momentum=params["server.momentum"], gamma=params["server.decay"])
    fedex = hyper.FedEx(server, configs, sched="aggressive", cutoff=0.0, baseline=params.get("fedex.gamma", 0.0))
    out = {"train_loss": [], "seconds": [], "test": []}
    every = [p["round"] for p in arm.get("test") or []]
    for t in range(1, rounds + 1):
        losses, sizes = [], []
        begin = time.time()
        fedex.step()
        out["seconds"].append(time.time() - begin)
        out["train_loss"].append(float(np.average([np.mean(x) for x in losses], weights=sizes)))
        if tested and t in every and t < rounds:
            out["test"].append({"round": t, "global": error(code, model, tasks)})
    if tested:
        losses, sizes = [], []
        with contextlib.redirect_stdout(None):  # a line for each client
            both = fedex.test()
        out["test"].append({"round": rounds, "global": float(both["global"]), "personalized": float(both["refine"])})
    code.get_prox = code_prox
    out |= {"global": fedex.trace("global").tolist(), "personalized": fedex.trace("refine").tolist(), "entropy": fedex.trace("entropy")[:-1].tolist()}
    return out


def runs(args):
    without_gpu()
    sys.path.insert(0, args.code)
    torch.set_num_threads(args.threads)
    import hyper
    os.makedirs(args.out, exist_ok=True)
    for path, (head, arm, _) in [(path, seed) for path in args.metrics for seed in read(path)]:
        name = next((s for s in SETS if s in head["training"]), None)
        if name is None:
            sys.exit(f"{path}: no set of {', '.join(SETS)}")
        to = pathlib.Path(args.out, f"{head['training']}-{head['seed']}.json")
        if to.exists():
            continue
        module, tasks = SETS[name]
        code = __import__(module)
        for seed in random.seed, np.random.seed, torch.manual_seed:
            seed(head["seed"])
        with tempfile.TemporaryDirectory() as scratch:
            clients = tasks(code, args.data, head, scratch)
        if len(clients) != head["data"]["clients"]:
            sys.exit(f"{path}: {len(clients)} clients in {args.data}, where fedfast had {head['data']['clients']}")
        out = run(code, hyper, clients, head, arm, not args.untested)
        to.with_suffix(".part").write_text(json.dumps({"training": head["training"], "seed": head["seed"], "torch": torch.__version__, "threads": args.threads} | out))
        to.with_suffix(".part").rename(to)
        print(f"{to}: {np.mean(out['seconds']):.2f} seconds a round, {out['test'][-1:]}", flush=True)


# Student's t with 1 to 10 degrees of freedom, 95 %.
QUANTILES = [6.314, 2.920, 2.353, 2.132, 2.015, 1.943, 1.895, 1.860, 1.833, 1.812]


def interval(xs):
    if len(xs) < 2:
        return f"{np.mean(xs):.4g}"
    t = QUANTILES[len(xs) - 2] if len(xs) - 2 < len(QUANTILES) else 1.7
    return f"{np.mean(xs):.4g} +- {t * np.std(xs, ddof=1) / math.sqrt(len(xs)):.2g}"


def compare(args):
    """Prints curves of both and their difference by seed, means with 90 % intervals."""
    theirs = {}
    for path in sorted(glob.glob(os.path.join(args.rival, "*.json*"))):
        for line in pathlib.Path(path).read_text().splitlines():
            r = json.loads(line)
            theirs[r["training"], r["seed"]] = r
    pairs = {}
    for ours in [seed for path in args.metrics for seed in read(path)]:
        key = ours[0]["training"], ours[0]["seed"]
        if key in theirs:
            pairs.setdefault(key[0], []).append((ours, theirs[key]))
    if not pairs:
        sys.exit(f"no arm of {args.rival} is in {', '.join(args.metrics)}")
    for training, both in pairs.items():
        rounds = len(both[0][0][1]["personalized"])
        parts = [(i * rounds // 4, (i + 1) * rounds // 4) for i in range(4)] if rounds >= 4 else [(0, rounds)]
        print(f"\n{training}: {len(both)} seeds; means over seeds of what is measured in these rounds, 90 % intervals; errors in percent\n")
        print("| what | rounds | fedfast | the authors' code | difference |\n|---|---|---|---|---|")
        rows = [("training loss, nats", "train_loss", 1), ("validation error before", "global", 100), ("validation error after", "personalized", 100), ("entropy of theta, nats", "entropy", 1), ("seconds", "seconds", 1)]
        for title, key, factor in rows:
            if not all(key in ours[1] and ours[1][key] for ours, _ in both):
                continue
            for a, b in parts:
                # The seconds of fedfast's first round are not known, and PyTorch's first one prepares.
                a = max(a, key == "seconds")
                if a == b:
                    continue
                mean = lambda xs: factor * np.mean([x for x in xs[a:b] if x is not None])
                x, y = [mean(ours[1][key]) for ours, _ in both], [mean(rival[key]) for _, rival in both]
                print(f"| {title} | {a + 1} to {b} | {interval(x)} | {interval(y)} | {interval(list(np.subtract(y, x)))} |")
        for i, point in enumerate(both[0][1]["test"]):
            x = [100 * p["test_error"] for ours, _ in both for p in (ours[1].get("test") or []) if p["round"] == point["round"]]
            y = [100 * rival["test"][i]["global"] for _, rival in both]
            if len(x) == len(y):
                print(f"| test error of the global model | {point['round']} | {interval(x)} | {interval(y)} | {interval(list(np.subtract(y, x)))} |")
        if not both[0][1]["test"]:
            continue
        for title, name, key in ("global", "global_test_error", "global"), ("personalized", "personalized_test_error", "personalized"):
            x, y = [100 * ours[2]["survivor"][name] for ours, _ in both], [100 * rival["test"][-1][key] for _, rival in both]
            print(f"| test error at the end, {title} | {rounds} | {interval(x)} | {interval(y)} | {interval(list(np.subtract(y, x)))} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    p = commands.add_parser("run", help="run the authors' code on arms of fedfast")
    p.add_argument("code", help="the authors' repository at commit " + COMMIT)
    p.add_argument("data", help="the folder of the files that fedfast had")
    p.add_argument("metrics", nargs="+", help="files of metrics, one arm a seed")
    p.add_argument("--out", default="rival")
    p.add_argument("--threads", type=int, default=1)
    p.add_argument("--untested", action="store_true", help="leave out test errors: the last one trains all clients")
    p.set_defaults(do=runs)
    p = commands.add_parser("compare", help="lay both side by side")
    p.add_argument("rival", help="the folder of --out")
    p.add_argument("metrics", nargs="+", help="files of fedfast's metrics")
    p.set_defaults(do=compare)
    args = parser.parse_args()
    args.do(args)


if __name__ == "__main__":
    main()
