"""Trains by an app that fedfast exported, started by app_test.go.

    python app.py step FOLDER...   a local training of client 0 by task.py from start.safetensors, to trained.safetensors
    python app.py run FOLDER...    the whole app, of a few clients that are called one after another
    python app.py job FOLDER...    a job and the script of its client, for a round
    python app.py inputs FOLDER... the inputs of all samples of client 0, to inputs.f32, in an order of their own
"""
import ctypes
import os
import sys
import tomllib
import types
from collections import defaultdict
from importlib import import_module
from pathlib import Path

import torch

torch.set_num_threads(1)
NAMES = {}
for line in Path(__file__).with_name("names.txt").read_text().splitlines()[1:]:
    name, *parameters = line.split()
    NAMES[name] = parameters


class ArrayRecord(dict):
    def to_torch_state_dict(self):
        return {name: t.clone() for name, t in self.items()}


class Message:
    def __init__(self, content, reply_to=None):
        self.content, self.reply_to = content, reply_to


class App:
    """ClientApp and ServerApp."""

    def __init__(self):
        self.called = {}

    def __getattr__(self, name):
        return lambda: lambda function: self.called.setdefault(name, function)


class Context:
    def __init__(self, run, node=None):
        self.run_config, self.node_config = run, node


def strategy(name):
    """A strategy by its name: its arguments are held to be Flower's, and it averages."""

    class Strategy:
        def __init__(self, **arguments):
            unknown = set(arguments) - set(NAMES[f"flwr.serverapp.strategy.{name}"])
            assert not unknown, f"{name} has no {unknown}"
            self.arguments = arguments

        def start(self, grid, initial_arrays, num_rounds):
            arrays = initial_arrays
            assert set(self.__dict__.get("v_t", arrays)) == set(arrays)
            for number in range(1, num_rounds + 1):
                config = {"server-round": number, "proximal-mu": self.arguments.get("proximal_mu")}
                content = {"arrays": arrays, "config": config}
                replies = [grid(client, "train", content) for client in range(grid.clients)]
                weights = [r["metrics"]["num-examples"] for r in replies]
                assert all(isinstance(r["metrics"]["train_loss"], float) for r in replies)
                mean = defaultdict(float)
                for weight, reply in zip(weights, replies):
                    for key, t in reply["arrays"].items():
                        mean[key] = mean[key] + t.double() * weight / sum(weights)
                arrays = ArrayRecord({key: t.float() for key, t in mean.items()})
                tests = [grid(client, "evaluate", {"arrays": arrays, "config": config}) for client in range(grid.clients)]
                assert all("eval_loss" in t["metrics"] and t["metrics"]["num-examples"] >= 0 for t in tests)
            return types.SimpleNamespace(arrays=arrays)

    return Strategy


def stand_in():
    """Puts small stand-ins where Flower's modules would be."""
    known = {"ArrayRecord": ArrayRecord, "MetricRecord": dict, "RecordDict": dict, "Message": Message, "Context": Context}
    for full in NAMES:
        module, _, name = full.rpartition(".")
        if module.startswith("flwr."):
            for part in ("flwr", "flwr.serverapp", module):
                sys.modules.setdefault(part, types.ModuleType(part))
            made = known.get(name, strategy(name) if module.endswith("strategy") else App)
            setattr(sys.modules[module], name, made)


def recipe(full):
    """A recipe, or SimEnv, whose arguments are held to be NVFlare's."""

    class Recipe:
        def __init__(self, **arguments):
            unknown = set(arguments) - set(NAMES[full])
            assert not unknown, f"{full} has no {unknown}"
            assert Path(arguments.get("train_script", "client.py")).exists()
            assert Path(arguments.get("initial_ckpt", "client.py")).exists()

        def add_client_file(self, path):
            assert Path(path).exists()

        def execute(self, env):
            return types.SimpleNamespace(get_status=lambda: "done", get_result=lambda: "none")

    return Recipe


def job(folder):
    """Runs a job, and the script of a client for a round, with small stand-ins of NVFlare's modules."""
    for name in ("job", "client", "data", "model", "task"):
        sys.modules.pop(name, None)
    for full in NAMES:
        module, _, name = full.rpartition(".")
        if module.startswith("nvflare"):
            parts = module.split(".")
            for i in range(len(parts)):
                sys.modules.setdefault(".".join(parts[: i + 1]), types.ModuleType(parts[i]))
            setattr(sys.modules[module], name, recipe(full))
    flare, sent = sys.modules["nvflare.client"], []
    flare.FLModel = lambda **model: types.SimpleNamespace(**model)
    flare.init, flare.get_site_name, flare.is_evaluate = lambda: None, lambda: "site-1", lambda: False
    flare.is_running, flare.send = lambda: not sent, sent.append
    sys.argv[1:], sys.path[0], before = [], str(folder), os.getcwd()
    sys.modules["nvflare"].client = flare
    import_module("job").main()
    start = import_module("model").load(folder / "start.safetensors").state_dict()
    assert all(torch.equal(t, torch.load("start.pt")[name]) for name, t in start.items())
    flare.receive = lambda: flare.FLModel(params=start, current_round=0)
    import_module("client").main()
    moved = max((sent[0].params[name] - t).abs().max().item() for name, t in start.items())
    assert 0 < moved < 10 and sent[0].meta["NUM_STEPS_CURRENT_ROUND"] > 0 and "score" in sent[0].metrics
    os.chdir(before)


class Grid:
    def __init__(self, app, run):
        self.app, self.run, self.clients = app, run, run["min-train-nodes"]

    def __call__(self, client, kind, content):
        torch.manual_seed(client)
        context = Context(self.run, {"partition-id": client, "num-partitions": self.clients})
        return self.app.called[kind](Message(content), context).content


def app_in(folder):
    """The modules of an app, and its configuration."""
    for name in [name for name in sys.modules if name.partition(".")[0] == "fedapp"]:
        del sys.modules[name]
    sys.path[:] = [str(folder)] + [p for p in sys.path if not Path(p, "fedapp").exists()]
    run = tomllib.loads((folder / "pyproject.toml").read_text())["tool"]["flwr"]["app"]["config"]
    return lambda name: import_module(f"fedapp.{name}"), run


mode = sys.argv[1]
for folder in map(Path, sys.argv[2:]):
    if mode == "job":
        job(folder)
        continue
    module, run = app_in(folder)
    if mode == "run":
        stand_in()
        here = Path.cwd()
        os.chdir(folder)
        module("server_app").app.called["main"](Grid(module("client_app").app, run), Context(run))
        os.chdir(here)
        continue
    samples, _ = module("data").load_data(0, 1, run["data-path"])
    if mode == "inputs":
        x = samples.tensors[0].float().contiguous()
        (folder / "inputs.f32").write_bytes(ctypes.string_at(x.data_ptr(), 4 * x.numel()))
        continue
    model = import_module("fedapp").start(run["weights"])
    module("task").train(model, samples, run, 1)
    module("model").save(model, folder / "trained.safetensors")
