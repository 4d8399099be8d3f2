"""Train and tune federated learning on CPUs with fedfast, from Python.

    import fedfast
    study = fedfast.tune(data=fedfast.Arrays(x, y, client=writer), scale=0.1, progress=True)
    study.best["params"], study.best["global_test_error"]
    study.table("rounds")          # a pandas.DataFrame where pandas is installed
    study.model()["dense1.weight"] # NumPy arrays of the returned model

The package starts the program `fedfast` (named by `binary`, by the environment variable FEDFAST, or found on PATH) and reads what it leaves.
"""

from .api import resume, run, tune
from .arrays import Arrays
from .program import Error
from .seeds import Seeds
from .study import Study

__all__ = ["Arrays", "Error", "Seeds", "Study", "resume", "run", "tune"]
