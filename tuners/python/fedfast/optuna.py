"""fedfast as an objective of an Optuna study that prunes by rounds. Needs Optuna 3 or later.

    def objective(trial):
        lr = fedfast.optuna.suggest(trial, {"client.lr": {"log10": [-3, 0]}})
        return fedfast.optuna.run(trial, data=data, settings={"model": "logistic", "rounds": 100, **lr})

    optuna.create_study(pruner=optuna.pruners.MedianPruner()).optimize(objective, n_trials=30)

Import it with `import fedfast.optuna`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import optuna

from . import api
from .settings import flatten

if TYPE_CHECKING:
    from typing_extensions import Unpack


def suggest(trial: "optuna.trial.Trial", space: "Mapping[str, Mapping[str, Any]]") -> "dict[str, Any]":
    """Suggest values for the dimensions of a space, written as in a study file: {"client.lr": {"log10": [-3, 0]}}."""
    values: "dict[str, Any]" = {}
    for name, dim in space.items():
        ((kind, given),) = ((k, v) for k, v in dim.items() if k != "step")
        if kind == "choice":
            values[name] = trial.suggest_categorical(name, given)
            continue
        low, high = given
        if kind == "int":
            values[name] = trial.suggest_int(name, low, high, step=dim.get("step", 1))
        elif kind == "uniform":
            values[name] = trial.suggest_float(name, low, high, step=dim.get("step"))
        elif kind == "log10":
            values[name] = trial.suggest_float(name, 10.0**low, 10.0**high, log=True)
        elif kind == "log10_1m":
            values[name] = 1 - trial.suggest_float("1 - " + name, 10.0**low, 10.0**high, log=True)
        elif kind == "log2":
            values[name] = 2 ** trial.suggest_int("log2 " + name, low, high)
        else:
            raise ValueError(f"{name}: unknown kind {kind!r}; must be choice, int, uniform, log10, log10_1m or log2")
    return values


def run(trial: "optuna.trial.Trial", **options: "Unpack[api.Options]") -> float:
    """Train one federation for a trial, and return its error on the clients' validation samples.

    The error is measured and reported to the trial about 20 times, or each settings["eval.every"] rounds. When the trial should be pruned, the
    training ends with TrialPruned. options are the options of fedfast.run. The user attribute "study" of a completed trial is the study's directory.
    """
    measured = {"eval.patience": 10**6, "eval.personalized": False}  # patience has the validation error measured
    settings = {**measured, **dict(flatten(options.pop("settings", {})))}

    def report(event: "dict[str, Any]") -> None:
        error = event.get("val_error")
        if event["event"] == "round" and error is not None:
            trial.report(error, event["round"])
            if trial.should_prune():
                raise optuna.TrialPruned(f"pruned at round {event['round']}")

    rest: "dict[str, Any]" = {**options}
    study = api.run(settings=settings, on_event=report, **rest)
    trial.set_user_attr("study", str(study.path))
    return float(study.best["global_val_error"])
