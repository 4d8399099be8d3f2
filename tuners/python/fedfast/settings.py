"""Keys of a study file and their values, as the program's flags take them."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from typing import Any

from . import program


def flatten(settings: "Mapping[str, Any]", prefix: str = "") -> "list[tuple[str, Any]]":
    """Turn a nested mapping into keys with dots. Entries of space and of options keep their own names and values."""
    out: "list[tuple[str, Any]]" = []
    for key, value in settings.items():
        if isinstance(value, Mapping) and not prefix.startswith("space."):
            out += flatten(value, f"{prefix}{key}.")
        else:
            out.append((prefix + key, value))
    return out


def toml(value: Any) -> str:
    """Write a value in TOML."""
    if hasattr(value, "item") and getattr(value, "ndim", 0) == 0:  # a scalar of NumPy
        value = value.item()
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, (str, os.PathLike)):
        return json.dumps(os.fspath(value))
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{json.dumps(k)} = {toml(v)}" for k, v in value.items()) + "}"
    if hasattr(value, "__iter__"):
        return "[" + ", ".join(toml(v) for v in value) + "]"
    raise TypeError(f"{value!r} has no form in a study file")


def only(space: "Mapping[str, Any]", preset: str) -> "dict[str, Any]":
    """Return settings by which the space is the given one alone, without the other dimensions of a preset."""
    section = program.call(["list", "presets", preset], progress=False).partition("[space]")[2].partition("\n[")[0]
    others = re.findall(r'^"?([\w.]+)"? *=', section, re.MULTILINE)
    return {**{f"space.{name}": "none" for name in others}, **{f"space.{name}": dim for name, dim in space.items()}}
