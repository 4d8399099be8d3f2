"""Training steps and federated rounds, each written as PyTorch runs them fastest on CPUs.

Steps: channels last for images, time first for sequences, gradients dropped instead of zeroed, torch.optim.SGD without weight decay.
Rounds: no optimizer object but one fused update a step; weights are copied and summed in place without autograd; the clients' examples are
float tensors in memory. As several processes, each has one thread and clients of its own; the weights and each process's sum of the
clients' weights lie in shared memory, so that only the word to go and its answer pass through a pipe.
In bf16, networks run forward under torch.autocast, and so the products of both passes are of bfloat16; weights and updates stay float32.
"""
import contextlib
import time

import torch
import torch.multiprocessing as multiprocessing
import torch.nn.functional as F

import networks


def autocast(job):
    """The context in which a job's network runs forward."""
    return torch.autocast("cpu", torch.bfloat16) if job["precision"] == "bf16" else contextlib.nullcontext()


class Step:
    """One training step, again and again on the same batch."""

    def __init__(self, job):
        self.job = job
        self.net = networks.build(job)
        self.fast = torch.compile(self.net) if job["compile"] else self.net
        x, labels = read_batch(job)
        self.x, self.labels = networks.pick(job, x, labels, torch.arange(job["batch"]))

    def start(self, rate):
        networks.load(self.net, self.job["params"])
        momentum = 0.9 if self.job["optimizer"] == "momentum" else 0.0
        self.sgd = torch.optim.SGD(networks.trainable(self.net), lr=rate, momentum=momentum)

    def forward(self, net, reduction="mean"):
        with autocast(self.job):
            return F.cross_entropy(net(self.x), self.labels, reduction=reduction)

    def loss(self):
        """The loss after the job's steps without dropout; the weights are then as they were."""
        self.start(self.job["rate"])
        for m in self.net.modules():
            if isinstance(m, torch.nn.Dropout):
                m.eval()
        for _ in range(self.job["before"]):
            self.run()
        self.net.eval()
        with torch.no_grad():
            loss = self.forward(self.fast if self.job["op"] == "forward" else self.net).item()  # steps were by fast
        self.net.train()
        self.start(1e-6)  # so low that the weights stay as they are: their values must not make the arithmetic faster or slower
        return loss

    def run(self):
        self.sgd.zero_grad(set_to_none=True)
        self.forward(self.fast).backward()
        self.sgd.step()


class Forward(Step):
    """One evaluation of a batch."""

    def run(self):
        self.net.eval()
        with torch.no_grad():
            self.forward(self.fast, "sum").item()


def read_batch(job):
    """Reads the batch that fedfast drew: images as rows of pixels or token ids, and labels."""
    def read(name, dtype):
        with open(job[name], "rb") as f:
            return torch.frombuffer(bytearray(f.read()), dtype=dtype)

    n = job["batch"]
    labels = read("labels_file", torch.int32).long().view(n, job["labels"])
    if job["vocab"]:
        return read("inputs_file", torch.int32).long().view(n, job["steps"]).t().contiguous(), labels
    x = read("inputs_file", torch.float32)
    if len(job["shape"]) == 3:
        channels, height, width = job["shape"]
        return x.view(n, height, width, channels).permute(0, 3, 1, 2), labels
    return x.view(n, *job["shape"]), labels


class Trainer:
    """Trains clients one after the other and sums their weights."""

    def __init__(self, job, clients):
        self.job = job
        self.net = networks.build(job).train()
        self.params = networks.trainable(self.net)
        self.clients = [networks.examples(job, job["samples"]) for _ in range(clients)]

    def train(self, weights, sums, clients=None):
        """Trains the given number of clients, or all of them."""
        with torch.no_grad():
            torch._foreach_zero_(sums)
        for x, labels in self.clients[:clients]:
            with torch.no_grad():
                for p, w in zip(self.params, weights):
                    p.copy_(w)
            self.client(x, labels)
            with torch.no_grad():
                torch._foreach_add_(sums, self.params, alpha=float(len(labels)))

    def client(self, x, labels):
        order = torch.randperm(len(labels))
        for index in order.split(self.job["batch"]):
            for p in self.params:
                p.grad = None
            inputs, targets = networks.pick(self.job, x, labels, index)
            with autocast(self.job):
                loss = F.cross_entropy(self.net(inputs), targets)
            loss.backward()
            with torch.no_grad():
                torch._foreach_add_(self.params, [p.grad for p in self.params], alpha=-1e-3)


class Round:
    """One round of federated averaging in this process, with all its threads."""

    def __init__(self, job):
        self.trainer = Trainer(job, job["clients"])
        self.weights = [p.detach().clone() for p in self.trainer.params]
        self.sums = [torch.zeros_like(w) for w in self.weights]
        self.examples = job["clients"] * job["samples"]
        self.trainer.train(self.weights, self.sums, 1)  # the first steps are slower

    def run(self):
        self.trainer.train(self.weights, self.sums)
        torch._foreach_mul_(self.sums, 1 / self.examples)
        for w, s in zip(self.weights, self.sums):
            w.copy_(s)

    def close(self):
        pass


def work(pipe, job, clients, weights, sums):
    """A process of a round: trains its clients whenever it is asked to."""
    torch.set_num_threads(1)
    trainer = Trainer(job, clients)
    trainer.train(weights, sums, 1)  # the first steps are slower
    pipe.send("ready")
    while pipe.recv() == "go":
        trainer.train(weights, sums)
        pipe.send("done")


class ProcessRound:
    """One round of federated averaging in several processes of one thread each."""

    def __init__(self, job):
        context = multiprocessing.get_context("spawn")
        count = job["processes"]
        self.weights = [p.detach().clone().share_memory_() for p in networks.trainable(networks.build(job))]
        self.sums, self.pipes, self.workers = [], [], []
        for i in range(count):
            clients = job["clients"] // count + (1 if i < job["clients"] % count else 0)
            sums = [torch.zeros_like(w).share_memory_() for w in self.weights]
            here, there = context.Pipe()
            worker = context.Process(target=work, args=(there, job, clients, self.weights, sums), daemon=True)
            worker.start()
            there.close()  # so that the end of the process is the end of the pipe
            self.sums.append(sums)
            self.pipes.append(here)
            self.workers.append(worker)
        self.wait()
        self.examples = job["clients"] * job["samples"]

    def run(self):
        for pipe in self.pipes:
            pipe.send("go")
        self.wait()
        total = self.sums[0]
        for sums in self.sums[1:]:
            torch._foreach_add_(total, sums)
        torch._foreach_mul_(total, 1 / self.examples)
        for w, s in zip(self.weights, total):
            w.copy_(s)

    def wait(self):
        """Waits for an answer of every process."""
        for pipe, worker in zip(self.pipes, self.workers):
            try:
                pipe.recv()
            except EOFError:
                worker.join()
                raise RuntimeError("a process of the round ended with code %s" % worker.exitcode) from None

    def close(self):
        for pipe in self.pipes:
            with contextlib.suppress(OSError):  # of a process that has ended
                pipe.send("end")
        for worker in self.workers:
            worker.join()


def measure(run, seconds, least, clock):
    """Returns the seconds per run of samples of 2 ms or more: at least least samples, for at least the given seconds."""
    times, runs, end = [], 1, time.perf_counter() + seconds
    while len(times) < least or time.perf_counter() < end:
        start = clock()
        for _ in range(runs):
            run()
        took = clock() - start
        if took < 0.002 and runs < 1 << 20:
            runs *= 2
            continue
        times.append(took / runs)
    return times
