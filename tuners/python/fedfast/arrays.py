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

ARRAYS = ("x", "y", "client", "x_test", "y_test", "client_test")


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

    def __post_init__(self) -> None:
        for name in ARRAYS:
            if getattr(self, name) is not None:
                object.__setattr__(self, name, _plain(name, getattr(self, name)))

    @staticmethod
    def frame(frame: "pandas.DataFrame", *, label: str = "label", client: str = "client") -> "Arrays":
        """Return the samples of a DataFrame, one in each row.

        Its columns are the label, the client and features: numbers, which become vectors in the order of the columns, or one column of arrays of
        equal shapes. Labels are classes if they are integers, truth values or texts, or of a categorical column, whose order they keep; floats
        are numbers to predict.
        """
        for name in (label, client):
            if list(frame.columns).count(name) != 1:
                raise ValueError(f"the frame has {list(frame.columns).count(name) or 'no'} column {name!r}; name one by Arrays.frame(frame, label=, client=)")
        features = frame.drop(columns=[label, client])
        if features.shape[1] == 1 and features.dtypes.iloc[0] == object:
            x = features.iloc[:, 0].tolist()
        else:
            for column, kind in zip(features.columns, features.dtypes):
                if getattr(kind, "kind", "O") not in "iufb":
                    raise ValueError(f"column {column!r} is of type {kind}, features must be numbers; drop it, or use pandas.get_dummies")
            x = features if features.isna().to_numpy().any() else features.to_numpy(dtype=np.float32)
        return Arrays(x, _plain(f"column {label!r}", frame[label]), _plain(f"column {client!r}", frame[client]))

    def name(self) -> str:
        """Return the name of the dataset in a study file, `data.name`."""
        kind = self.kind
        if kind is None:
            whole = self.x.ndim == 2 and np.issubdtype(self.x.dtype, np.integer)
            if whole and self.y is not None:
                raise ValueError('x: a matrix of integers may hold numbers or token ids; say kind="vectors" or kind="tokens", by Arrays(x, y, client, kind=)')
            kind = "images" if self.x.ndim > 2 else "tokens" if whole else "vectors"
        if kind not in ("images", "vectors", "tokens"):
            raise ValueError(f"kind = {kind!r}: must be one of images, vectors, tokens")
        return "npz-" + kind

    def form(self) -> str:
        """Return the shape of a sample: channels x height x width, features, or a number of tokens."""
        shape = self.x.shape[1:]
        if self.name() == "npz-images":
            return f"{shape[2] if len(shape) > 2 else 1}x{shape[0]}x{shape[1]}"
        return f"{shape[0]}tokens" if self.name() == "npz-tokens" else str(shape[0])

    def save(self, directory: "os.PathLike[str] | str") -> Path:
        """Write the arrays into a file of numpy.savez in a directory, named after its contents, and return its path.

        Equal arrays have one file, so that a study finds its samples when it is resumed.
        """
        given = {k: np.ascontiguousarray(v) for k in ARRAYS if (v := getattr(self, k)) is not None}
        digest = hashlib.sha256()
        for key, array in given.items():
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


def _plain(name: str, values: Any) -> "np.ndarray[Any, Any]":
    """Return what a user gives as an array of numbers or texts, all of which are there."""
    items = values if isinstance(values, (list, tuple)) else None
    if hasattr(values, "isna"):
        missing = values.isna().to_numpy()
        if missing.any():
            raise ValueError(f"{name}: row {int(missing.nonzero()[0][0])} has no value; leave such rows out, by frame.dropna()")
        values = values.cat.codes if hasattr(values, "cat") else values
    elif hasattr(values, "detach"):
        values = (values.to_dense() if values.is_sparse else values).detach().cpu()
        values = (values.float() if values.is_floating_point() else values).numpy()
    elif hasattr(values, "toarray"):  # a sparse matrix
        values = values.toarray()
    elif np.ma.is_masked(values):
        raise ValueError(f"{name}: some values are masked, and would be read all the same; leave these samples out")
    if items is None and hasattr(values, "tolist") and (not isinstance(getattr(values, "dtype", np.dtype("f")), np.dtype) or values.dtype == object):
        items = values.tolist()
    if items and (hasattr(items[0], "__array__") and np.ndim(items[0]) > 0 or isinstance(items[0], (list, tuple))):  # tensors, pictures, lists
        rows = [_plain(name, v) for v in items]
        other = [row.shape for row in rows if row.shape != rows[0].shape]
        if other:
            raise ValueError(f"{name}: samples have the shapes {rows[0].shape} and {other[0]}; bring all to one")
        return np.stack(rows)
    for i, v in enumerate(items or ()):
        if v is None or type(v).__name__ in ("NAType", "NaTType") or v != v:
            raise ValueError(f"{name}: value {i} is missing; leave such samples out")
    array = np.asarray(values if items is None else items)
    if array.dtype == object or len({isinstance(v, (str, bytes)) for v in items or ()}) > 1:
        held = ", ".join(sorted({type(v).__name__ for v in items or array.ravel().tolist()}))
        way = next((f"v.{m}()" for m in ("timestamp", "toordinal", "total_seconds") if items and hasattr(items[0], m)), "float(v)")
        raise ValueError(f"{name} holds {held}; must be numbers, or texts: [str(v) for v in values] if they are names, [{way} for v in values] if they are numbers")
    return array.astype(np.float32) if array.dtype.kind == "f" and array.itemsize not in (4, 8) else array


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
