#!/usr/bin/env python3
"""fedfast as the objective of an Optuna study, which prunes trials by rounds. Needs optuna. Usage: optuna_objective.py [SCALE]"""

import sys

import optuna

import fedfast.optuna

SPACE = {"client.lr": {"log10": [-4, -1]}, "client.epochs": {"int": [1, 5]}, "client.batch": {"log2": [3, 6]}}
SCALE = float(sys.argv[1]) if len(sys.argv) > 1 else 1.0


def objective(trial):
    settings = {"model": "logistic", "method": "fedavg", "rounds": 60, **fedfast.optuna.suggest(trial, SPACE)}
    return fedfast.optuna.run(trial, settings=settings, seed=1, scale=SCALE)


study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=1), pruner=optuna.pruners.MedianPruner(n_startup_trials=3))
study.optimize(objective, n_trials=8)
print(f"validation error {100 * study.best_value:.1f} % with {study.best_params}")
print("its study:", study.best_trial.user_attrs["study"])
