#!/usr/bin/env python3
"""Compare federated methods over seeds: means with intervals, and a plot for a paper, methods.svg. Usage: compare_methods.py [SCALE]"""

import sys

import fedfast

scale = float(sys.argv[1]) if len(sys.argv) > 1 else 1.0  # of the rounds
methods = {
    "fedavg": {},
    "fedprox": {"client.mu": 0.1},
    "scaffold": {},
}
settings = {"client": {"lr": 0.05, "epochs": 3, "batch": 16}, "eval.personalized": False}
mlp = [{"type": "flatten"}, {"type": "dense", "units": 64}, {"type": "relu"}, {"type": "dense"}]
runs = []
for method, hyperparameters in methods.items():
    named = {**settings, **hyperparameters, "name": method}
    runs.append(fedfast.run(data="glyphs", model=mlp, method=method, settings=named, seeds=3, scale=scale))
    error = runs[-1].summary["returned"]["global_test_error"]
    print(f"{method}: test error {100 * error['mean']:.1f} ± {100 * error['half']:.1f} % ({error['n']} seeds, 90 % interval)")

fedfast.figures(*runs)["test"].save("methods.svg")
