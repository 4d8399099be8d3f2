"""Measures PyTorch for fedfast bench: python3 serve.py THREADS.

Reads one job a line of JSON from its input and answers with one line of JSON. The first line that it writes says what runs here. A job
{"op": "step" | "forward" | "round", ...} prepares what {"op": "time", "seconds": s, "least": n} then runs and times. Times of one thread in
one process are processor time, as fedfast's are; others are wall-clock time. An answer {"error": ...} says what went wrong in one line.
"""
import ctypes
import json
import platform
import re
import sys
import time

try:
    import torch
except ImportError as error:
    print(json.dumps({"error": str(error)}))
    sys.exit()

import networks


def libraries():
    """The libraries that multiply matrices, as the process has them mapped."""
    torch.rand(64, 64) @ torch.rand(64, 64)
    try:
        with open("/proc/self/maps") as f:
            return sorted({line.split()[-1] for line in f if "blas" in line and ".so" in line})
    except OSError:
        return []


def kernel(paths):
    """The processor that OpenBLAS, if it is one of these libraries, has chosen its loops for."""
    for path in paths:
        try:
            name = ctypes.CDLL(path).openblas_get_corename
        except (OSError, AttributeError):
            continue
        name.restype = ctypes.c_char_p
        return name().decode()
    return ""


def hello():
    """What runs here: versions, the BLAS and the loops that it chose, and those of oneDNN and PyTorch."""
    shown = torch.__config__.show()

    def find(pattern):
        match = re.search(pattern, shown)
        return match.group(1) if match else ""

    blas, around = libraries(), ""
    if networks.wrong_points():
        around = "its convolutions 1x1 are wrong here, and run as matrix products"
    return {
        "torch": torch.__version__, "python": platform.python_version(), "blas": ", ".join(blas) or "unknown", "blas_kernel": kernel(blas),
        "onednn": find(r"(?:MKL-DNN|oneDNN) v([0-9.]+)"), "capability": find(r"CPU capability usage: (\S+)"),
        "workaround": around,
    }


class Server:
    def __init__(self, threads):
        import steps

        self.steps, self.threads, self.job, self.clock = steps, threads, None, None

    def answer(self, job):
        steps = self.steps
        if job["op"] == "time":
            return {"times": steps.measure(self.job.run, job["seconds"], job["least"], self.clock)}
        if hasattr(self.job, "close"):
            self.job.close()
        self.job = None  # gives the memory back before the next is built
        self.clock = time.process_time if self.threads == 1 and job["op"] != "round" else time.perf_counter
        if job["op"] == "round":
            self.job = steps.ProcessRound(job) if job["processes"] > 1 else steps.Round(job)
            return {}
        self.job = (steps.Step if job["op"] == "step" else steps.Forward)(job)
        loss = self.job.loss()
        for _ in range(2):
            self.job.run()
        return {"loss": loss}


def main():
    threads = int(sys.argv[1])
    torch.set_num_threads(threads)
    server = Server(threads)
    print(json.dumps(hello()), flush=True)
    for line in sys.stdin:
        try:
            reply = server.answer(json.loads(line))
        except Exception as error:
            reply = {"error": "%s: %s" % (type(error).__name__, " ".join(str(error).split()))}
        print(json.dumps(reply), flush=True)
    if hasattr(server.job, "close"):
        server.job.close()


if __name__ == "__main__":
    main()
