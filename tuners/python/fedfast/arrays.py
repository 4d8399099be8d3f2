"""One's own examples, as the program reads them."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Optional

import numpy as np

KINDS = ("images", "vectors", "tokens")


@dataclass(frozen=True)
class Arrays:
    """Examples in memory.

    x: images of shape (n, height, width) or (n, height, width, channels), as uint8 or floats; vectors of shape (n, features); or token ids,
    from 0, of shape (n, length). y: n classes from 0; without it a model of tokens learns the next id. client: n numbers or names that say
    whose the examples are; without it, set `data.partition`, which deals them. x_test, y_test and client_test: test examples, else the program
    sets some of x aside. kind: "images", "vectors" or "tokens"; by default what the shape says, and tokens for a matrix of integers.
    """

    x: Any
    y: Any = None
    client: Any = None
    x_test: Any = None
    y_test: Any = None
    client_test: Any = None
    kind: Optional[str] = None

    def name(self) -> str:
        """Return the name of the set in a study file, `data.name`."""
        kind = self.kind
        if kind is None:
            x = np.asarray(self.x)
            kind = "images" if x.ndim > 2 else "tokens" if np.issubdtype(x.dtype, np.integer) else "vectors"
        if kind not in KINDS:
            raise ValueError(f"kind = {kind!r}: must be one of {', '.join(KINDS)}")
        return "npz-" + kind

    def save(self, folder: "os.PathLike[str] | str") -> Path:
        """Write the arrays into a file of numpy.savez in a folder, named after what they hold, and return its path.

        Equal arrays have one file, so that a study finds its examples when it is resumed.
        """
        given = {k: np.ascontiguousarray(v) for k in ("x", "y", "client", "x_test", "y_test", "client_test") if (v := getattr(self, k)) is not None}
        digest = hashlib.sha256()
        for key, array in given.items():
            if array.dtype == object:
                raise ValueError(f"{key}: an array of Python objects; make it one of numbers or of text")
            digest.update(f"{key} {array.dtype.str} {array.shape} ".encode())
            digest.update(array.tobytes())
        path = Path(folder).absolute() / f"examples-{digest.hexdigest()[:16]}.npz"
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            part = path.with_name(f".{path.name}.{os.getpid()}")
            with open(part, "wb") as file:
                np.savez(file, **given)
            os.replace(part, path)
        return path
