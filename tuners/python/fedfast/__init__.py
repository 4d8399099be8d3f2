"""Train and tune federated learning on CPUs with fedfast, from Python.

    import fedfast
    study = fedfast.tune(data=fedfast.Arrays(x, y, client=writer), model="logistic", scale=0.1, progress=True)
    study.best["params"], study.best["global_test_error"]
    study.trials                   # a pandas.DataFrame if pandas is installed
    study.plot("score")            # a figure, shown in a notebook
    study.model["dense1.weight"]   # NumPy arrays; study.model.torch() is a PyTorch module

The package starts the program `fedfast`: the one that the variable FEDFAST names, the one of its wheel, or the first on PATH.
"""

from typing import Any

from .api import call, resume, run, tune
from .arrays import Arrays
from .figures import Figure, figures
from .net import Model
from .program import Error
from .seeds import Seeds
from .study import Study

__all__ = ["Arrays", "Error", "Figure", "Model", "Seeds", "Study", "call", "figures", "resume", "run", "tune"]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib import metadata

        return metadata.version("fedfast")
    raise AttributeError(f"module 'fedfast' has no attribute {name!r}")
