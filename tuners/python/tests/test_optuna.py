#!/usr/bin/env python3
"""Tests of fedfast as Optuna's objective; skipped without Optuna."""

import os
import tempfile
import unittest

import fedfast
from test_fedfast import SMALL, samples

try:
    import optuna

    import fedfast.optuna
except ImportError:
    optuna = None

SPACE = {
    "client.lr": {"log10": [-4, 0]}, "client.epochs": {"int": [1, 3]}, "client.batch": {"log2": [2, 4]}, "server.momentum": {"choice": [0, 0.5]},
    "client.weight_decay": {"uniform": [0, 0.01]},
}


@unittest.skipIf(optuna is None, "needs optuna")
class Objective(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        here = os.getcwd()
        os.chdir(directory.name)
        self.addCleanup(os.chdir, here)
        optuna.logging.set_verbosity(optuna.logging.WARNING)

    def test_prunes_by_rounds(self):
        def objective(trial):
            values = fedfast.optuna.suggest(trial, SPACE)
            return fedfast.optuna.run(trial, data=samples(), seed=1, settings={**SMALL, "method": "fedavgm", "rounds": 12, "eval.every": 2, **values})

        def optimize():
            study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=1), pruner=optuna.pruners.MedianPruner(2))
            study.optimize(objective, n_trials=8)
            return study

        study = optimize()
        states = [t.state.name for t in study.trials]
        self.assertEqual(set(states), {"COMPLETE", "PRUNED"})
        for trial in study.trials:
            steps = list(trial.intermediate_values)
            self.assertEqual(steps, list(range(2, 13, 2))[: len(steps)])
            self.assertTrue(len(steps) == 6 or trial.state.name == "PRUNED")
        best = fedfast.Study(study.best_trial.user_attrs["study"])
        self.assertEqual(best.best["global_val_error"], study.best_value)
        self.assertIn(f"epochs = {study.best_params['client.epochs']}", best.config)
        self.assertEqual([t.value for t in optimize().trials], [t.value for t in study.trials])  # where it prunes depends on no clock

    def test_kinds(self):
        trial = optuna.trial.FixedTrial({"1 - client.momentum": 0.1, "log2 client.batch": 3})
        got = fedfast.optuna.suggest(trial, {"client.momentum": {"log10_1m": [-3, 0]}, "client.batch": {"log2": [0, 5]}})
        self.assertEqual(got, {"client.momentum": 0.9, "client.batch": 8})
        trial = optuna.trial.FixedTrial({"client.batch": 24, "client.dropout": 0.2})
        got = fedfast.optuna.suggest(trial, {"client.batch": {"int": [8, 64], "step": 8}, "client.dropout": {"uniform": [0, 0.5], "step": 0.1}})
        self.assertEqual(got, {"client.batch": 24, "client.dropout": 0.2})
        with self.assertRaisesRegex(ValueError, "client.lr: unknown kind 'log'"):
            fedfast.optuna.suggest(trial, {"client.lr": {"log": [0, 1]}})


if __name__ == "__main__":
    unittest.main()
