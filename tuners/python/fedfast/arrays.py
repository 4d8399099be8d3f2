"""Samples in memory, as the program reads them."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Optional, Union

import numpy as np

if TYPE_CHECKING:
    import pandas

KINDS = ("images", "vectors", "tokens")


@dataclass(frozen=True)
class Arrays:
    """Samples in memory.

    x: images of shape (n, height, width) or (n, height, width, channels), as uint8 or floats; vectors of shape (n, features); or token ids,
    from 0, of shape (n, length). y: n classes from 0; without it a model of tokens learns the next id. client: n numbers or names of the
    samples' clients; without it, set `data.partition`, which deals the samples. x_test, y_test and client_test: test samples; by default the
    program sets some of x aside. kind: "images", "vectors" or "tokens"; by default from the shape; a matrix of integers with y needs it, one without is tokens.
    """

    x: Any
    y: Any = None
    client: Any = None
    x_test: Any = None
    y_test: Any = None
    client_test: Any = None
    kind: Optional[str] = None

    @staticmethod
    def frame(frame: "pandas.DataFrame", *, label: str = "label", client: str = "client") -> "Arrays":
        """Return the samples of a DataFrame, one in each row.

        Its columns are the label, the client and features: numbers, which become vectors in the order of the columns, or one column of arrays of
        equal shapes. Labels are classes if they are integers, truth values or texts, or of a categorical column, whose order they keep; floats
        are numbers to predict.
        """
        for name in (label, client):
            if name not in frame.columns:
                raise ValueError(f"the frame has no column {name!r}; name it by Arrays.frame(frame, label=, client=)")
        features = frame.drop(columns=[label, client])
        if features.shape[1] == 0:
            raise ValueError("the frame has no column of features")
        if features.shape[1] == 1 and features.dtypes.iloc[0] == object:
            x = np.stack([np.asarray(v) for v in features.iloc[:, 0]])
        else:
            for column in features.columns:
                if not (hasattr(features[column].dtype, "kind") and features[column].dtype.kind in "iufb"):
                    raise ValueError(f"column {column!r} is of type {features[column].dtype}, features must be numbers; drop it, or use pandas.get_dummies")
            x = features.to_numpy(dtype=np.float32)
        owner = _column(frame, client)
        whole = owner.dtype.kind == "f" and bool((owner == np.floor(owner)).all())  # integers, between which some were missing
        y = frame[label].cat.codes.to_numpy() if hasattr(frame[label], "cat") else _column(frame, label)
        if y.dtype.kind in "iu" and (y < 0).any() and hasattr(frame[label], "cat"):
            raise ValueError(f"column {label!r}: row {int(np.argmin(y))} has no value; leave such rows out, by frame.dropna()")
        return Arrays(x, y, client=owner.astype(np.int64) if whole else owner.astype(str) if owner.dtype.kind in "fb" else owner)

    def name(self) -> str:
        """Return the name of the dataset in a study file, `data.name`."""
        kind = self.kind
        if kind is None:
            x = np.asarray(self.x)
            whole = x.ndim == 2 and np.issubdtype(x.dtype, np.integer)
            if whole and self.y is not None:
                raise ValueError('x: a matrix of integers may hold numbers or token ids; say kind="vectors" or kind="tokens", by Arrays(x, y, client, kind=)')
            kind = "images" if x.ndim > 2 else "tokens" if whole else "vectors"
        if kind not in KINDS:
            raise ValueError(f"kind = {kind!r}: must be one of {', '.join(KINDS)}")
        return "npz-" + kind

    def form(self) -> str:
        """Return the shape of a sample: channels x height x width, features, or a number of tokens."""
        shape = list(np.shape(self.x)[1:])
        if self.name() == "npz-images":
            return f"{shape[2] if len(shape) > 2 else 1}x{shape[0]}x{shape[1]}"
        return f"{shape[0]}tokens" if self.name() == "npz-tokens" else str(shape[0])

    def save(self, directory: "os.PathLike[str] | str") -> Path:
        """Write the arrays into a file of numpy.savez in a directory, named after its contents, and return its path.

        Equal arrays have one file, so that a study finds its samples when it is resumed.
        """
        given = {k: np.ascontiguousarray(v) for k in ("x", "y", "client", "x_test", "y_test", "client_test") if (v := getattr(self, k)) is not None}
        digest = hashlib.sha256()
        for key, array in given.items():
            if np.ma.is_masked(getattr(self, key)):
                raise ValueError(f"{key}: some values are masked, and would be read all the same; leave these samples out")
            if array.dtype == object:
                raise ValueError(f"{key}: an array of Python objects; must be numbers or text")
            digest.update(f"{key} {array.dtype.str} {array.shape} ".encode())
            digest.update(array.tobytes())
        path = Path(directory).absolute() / f"samples-{digest.hexdigest()[:16]}.npz"
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            part = path.with_name(f".{path.name}.{os.getpid()}")
            with open(part, "wb") as file:
                np.savez(file, **given)
            os.replace(part, path)
        return path


def _column(frame: "pandas.DataFrame", name: str) -> "np.ndarray[Any, Any]":
    """Return a column as numbers or texts, all of which are there."""
    missing = frame[name].isna().to_numpy()
    if missing.any():
        raise ValueError(f"column {name!r}: row {int(missing.argmax())} has no value; leave such rows out, by frame.dropna()")
    values = frame[name].tolist()
    kinds = {"text" if isinstance(v, str) else "number" for v in values}
    array = np.array(values)
    if len(kinds) > 1 or array.dtype.kind not in "iufbUS":
        raise ValueError(f"column {name!r} holds {', '.join(sorted({type(v).__name__ for v in values}))}; must be numbers, or texts")
    return array


Data = Union[Arrays, "tuple[Any, ...]", "pandas.DataFrame", str]


def arrays(data: Any) -> Arrays:
    """Return what a user gives for data as Arrays."""
    if isinstance(data, Arrays):
        return data
    if isinstance(data, tuple) and 2 <= len(data) <= 3:
        return Arrays(*data)
    if hasattr(data, "columns") and hasattr(data, "to_numpy"):
        frame: Any = data
        return Arrays.frame(frame)
    raise TypeError(f"data: must be Arrays, (x, y), (x, y, client), a DataFrame or the name of a dataset, not {type(data).__name__}")
