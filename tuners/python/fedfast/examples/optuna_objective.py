# %% [markdown]
# # fedfast as an objective of Optuna
# Optuna suggests hyperparameters and prunes trials by their rounds; fedfast trains. Needs optuna. The other way round, a sampler of Optuna
# as a tuner of fedfast, is `own_tuner`.

# %%
import optuna

import fedfast.optuna

scale = 1.0  # of the rounds
space = {"client.lr": {"log10": [-4, -1]}, "client.epochs": {"int": [1, 5]}, "client.batch": {"log2": [3, 6]}}


def objective(trial):
    settings = {"model": "logistic", "method": "fedavg", "rounds": 60, **fedfast.optuna.suggest(trial, space)}
    return fedfast.optuna.run(trial, settings=settings, seed=1, scale=scale)


# %%
study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=1), pruner=optuna.pruners.MedianPruner(n_startup_trials=3))
study.optimize(objective, n_trials=8)
print(f"validation error {100 * study.best_value:.1f} % with {study.best_params}")

# %% [markdown]
# Each trial is also a study of fedfast, with its curves and its model.

# %%
best = fedfast.Study(study.best_trial.user_attrs["study"])
best.plot()
