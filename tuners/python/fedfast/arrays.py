"""Samples in memory, as the program reads them."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, replace
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
        named = [list(c.categories) for c in (getattr(v, "cat", v) for v in (self.y, self.y_test)) if hasattr(c, "categories")]
        if len(named) > 1 and named[0] != named[1]:
            raise ValueError(f"y_test: the categories {named[1]} are not those of y, {named[0]}; y_test.cat.set_categories(y.cat.categories)")
        for name in ARRAYS:
            if getattr(self, name) is not None:
                object.__setattr__(self, name, _plain(name, getattr(self, name), name.startswith("client")))

    @staticmethod
    def frame(frame: "pandas.DataFrame", *, label: str = "label", client: str = "client", kind: Optional[str] = None) -> "Arrays":
        """Return the samples of a DataFrame, one in each row.

        Its columns are the label, the client and features: numbers, which become vectors in the order of the columns, or one column of arrays of
        equal shapes. Labels are classes if they are integers, truth values or texts, or of a categorical column, whose order they keep; floats
        are numbers to predict.
        """
        for name in (label, client):
            if list(frame.columns).count(name) != 1:
                way = "frame.reset_index()" if name in frame.index.names else "name one by Arrays.frame(frame, label=, client=)"
                raise ValueError(f"the frame has {list(frame.columns).count(name) or 'no'} column {name!r}; {way}")
        features = frame.drop(columns=[label, client])
        one = features.shape[1] == 1 and features.dtypes.iloc[0] == object
        x = features.iloc[:, 0].tolist() if one else _plain("x", features).astype(np.float64)
        if not one and not (np.abs(x) > 1e5).any():  # the program tells of columns that 32 bits lose
            x = x.astype(np.float32)
        return Arrays(x, _plain(f"column {label!r}", frame[label]), _plain(f"column {client!r}", frame[client], True), kind=kind)

    def name(self) -> str:
        """Return the name of the dataset in a study file, `data.name`."""
        kind = self.kind
        if kind is None:
            whole = self.x.ndim == 2 and self.x.dtype.kind in "iu"
            if whole and self.y is not None:
                raise ValueError('x: a matrix of integers may hold numbers or token ids; say kind="vectors" or kind="tokens", by Arrays(x, y, client, kind=) or Arrays.frame(frame, kind=)')
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


def _plain(name: str, values: Any, ids: bool = False) -> "np.ndarray[Any, Any]":
    """Return what a user gives as an array of numbers or texts, all of which are there. Those of ids tell clients apart."""
    items = values if isinstance(values, (list, tuple)) else None
    if hasattr(values, "columns"):
        values = _matrix(values) if name == "x" or values.shape[1] > 1 else values.iloc[:, 0]
    if hasattr(values, "isna"):
        missing = np.asarray(values.isna())
        if missing.any():
            raise ValueError(f"{name}: row {int(missing.nonzero()[0][0])} has no value; leave such rows out, by frame.dropna()")
        coded = getattr(values, "cat", values)
        values = values if not hasattr(coded, "codes") else np.asarray(values) if ids else coded.codes
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
    if array.dtype.type in (np.void, np.record):
        names = array.dtype.names
        way = f"numpy.column_stack([{name}[f] for f in {list(names)}])" if names else f'save {name}.astype("float32") where they are made'
        raise ValueError(f"{name} holds {'records' if names else 'bytes of an unknown type, as saved bfloat16'}; must be numbers, or texts: {way}")
    if ids and array.dtype.kind == "f" and (np.abs(array) >= (exact := 2.0 ** (np.finfo(array.dtype).nmant + 1))).any():
        raise ValueError(f"{name}: ids from {exact:.0f} are rounded in {array.dtype}, so that clients may become one; read them as texts, by pandas.read_csv(file, dtype={{...: str}})")
    return array.astype(np.float32) if array.dtype.kind in "fV" and array.itemsize not in (4, 8) else array


def _matrix(frame: "pandas.DataFrame") -> "np.ndarray[Any, Any]":
    """Return the columns of a frame, all of numbers, as a matrix of the narrowest type that holds them."""
    for column, kind in zip(frame.columns, frame.dtypes):
        letter = getattr(kind, "kind", "O")
        if letter not in "iufb":
            given = f"frame[{column!r}]"
            seconds = {"m": given, "M": f"({given} - {given}.min())"}.get(letter)
            way = f"{given}.astype(float) if it holds numbers, pandas.get_dummies(frame, columns=[{column!r}]) if names; or drop it"
            raise ValueError(f"column {column!r} is of type {kind}, features must be numbers: {f'{seconds}.dt.total_seconds()' if seconds else way}")
    missing = frame.isna().to_numpy()
    if missing.any():
        row, column = (int(at[0]) for at in missing.nonzero())
        raise ValueError(f"column {frame.columns[column]!r}: row {row} has no value; leave such rows out, by frame.dropna()")
    return frame.to_numpy(np.result_type(*(getattr(kind, "numpy_dtype", getattr(kind, "subtype", kind)) for kind in frame.dtypes)))


Data = Union[Arrays, "tuple[Any, ...]", "pandas.DataFrame", str]


def arrays(data: Any, name: str = "") -> Arrays:
    """Return what a user gives for data as Arrays. name is `data.name` of the settings, which may say the kind."""
    if isinstance(data, tuple) and 2 <= len(data) <= 3:
        data = Arrays(*data)
    elif hasattr(data, "columns") and hasattr(data, "to_numpy"):
        data = Arrays.frame(data)
    if not isinstance(data, Arrays):
        raise TypeError(f"data: must be Arrays, (x, y), (x, y, client), a DataFrame or the name of a dataset, not {type(data).__name__}")
    return replace(data, kind=name[len("npz-") :]) if name in ("npz-images", "npz-vectors", "npz-tokens") else data
