#!/usr/bin/env python3
"""Tune with FedEx under successive halving, as in the FedEx paper, and show what FedEx decided. Usage: tune_fedex.py [SCALE]"""

import sys

import fedfast

study = fedfast.tune(
    data="glyphs",
    model=[{"type": "flatten"}, {"type": "dense", "units": 64}, {"type": "relu"}, {"type": "dense"}],
    method="fedavgm",
    space={
        "server.lr": {"log10": [-1, 1]},  # SHA draws it once for each trial
        "client.lr": {"log10": [-3, 0]},  # FedEx sets those of clients in each round
        "client.epochs": {"int": [1, 5]},
    },
    tuner="sha",
    client_tuner="fedex",
    seed=1,
    scale=float(sys.argv[1]) if len(sys.argv) > 1 else 1.0,
    progress=True,
)
best = study.best
print("best configuration:", best["params"])
print(f"test error: {100 * best['global_test_error']:.1f} % global, {100 * best['personalized_test_error']:.1f} % personalized")
for name, figure in fedfast.figures(study).items():
    print(f"{name}: {figure.title}")
study.plot("history").save("history.svg")
