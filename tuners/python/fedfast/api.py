"""What is asked of the program."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Optional, Union, overload

from . import program
from .arrays import Arrays
from .program import Progress
from .seeds import Seeds, holds_seeds
from .study import Study

PathLike = Union[str, "os.PathLike[str]"]
Settings = Mapping[str, Any]


@overload
def run(config: Optional[PathLike] = None, *, seeds: int, **options: Any) -> Seeds: ...
@overload
def run(config: Optional[PathLike] = None, *, seeds: None = None, **options: Any) -> Study: ...
def run(config: Optional[PathLike] = None, *, seeds: Optional[int] = None, **options: Any) -> "Union[Study, Seeds]":
    """Train one federation, without tuning, and return what it left; see tune for the options, of which tuner, client_tuner and baseline
    are not for it."""
    for name in ("tuner", "client_tuner", "baseline"):
        if name in options:
            raise TypeError(f"run takes no {name}; tune does")
    return _start("run", config, seeds=seeds, **options)


@overload
def tune(config: Optional[PathLike] = None, *, seeds: int, **options: Any) -> Seeds: ...
@overload
def tune(config: Optional[PathLike] = None, *, seeds: None = None, **options: Any) -> Study: ...
def tune(config: Optional[PathLike] = None, *, seeds: Optional[int] = None, **options: Any) -> "Union[Study, Seeds]":
    """Tune a federated training and return the study.

    config: a study file; or preset: the name of one; without both the preset quickstart.
    data: Arrays, whose file goes into the folder of the study's folder.
    settings: keys of a study file over those of the file or preset, as a mapping that may be nested:
        {"rounds": 100, "client": {"lr": 0.1}, "space": {"client.lr": {"log10": [-3, 0]}}}.
    study: the folder of the study, new or to be resumed with equal settings; by default a dated one below "studies".
    tuner, client_tuner: names; baseline: the number of random configurations to compare with.
    seed, workers, scale: as on the command line.
    seeds: the number of studies, with seed, seed + 1 and so on; Seeds is returned then.
    progress: True prints the program's lines to stderr, a function gets them one by one.
    binary: the program; args: more of its flags.

    An Error is raised with the program's one line about what is wrong.
    """
    return _start("tune", config, seeds=seeds, **options)


def resume(
    study: PathLike, *, progress: Progress = None, binary: Optional[PathLike] = None, args: "tuple[str, ...] | list[str]" = ()
) -> "Union[Study, Seeds]":
    """Resume a study, a training or those of several seeds that were interrupted; what is finished is returned as it is."""
    program.call(program.find(binary), ["study", "resume", os.fspath(study), "--json", *args], progress)
    return _left(study, binary)


def _left(path: PathLike, binary: Optional[PathLike]) -> "Union[Study, Seeds]":
    return Seeds(path, binary=binary) if holds_seeds(path) else Study(path, binary=binary)


def _start(
    command: str,
    config: Optional[PathLike],
    *,
    preset: Optional[str] = None,
    data: Optional[Arrays] = None,
    settings: Optional[Settings] = None,
    study: Optional[PathLike] = None,
    tuner: Optional[str] = None,
    client_tuner: Optional[str] = None,
    baseline: Optional[int] = None,
    seed: Optional[int] = None,
    seeds: Optional[int] = None,
    workers: Optional[int] = None,
    scale: Optional[float] = None,
    progress: Progress = None,
    binary: Optional[PathLike] = None,
    args: "tuple[str, ...] | list[str]" = (),
) -> "Union[Study, Seeds]":
    path = Path(study) if study is not None else _dated(command)
    given = dict(flatten(settings or {}))
    examples = str(data.save(path.absolute().parent)) if data is not None else None
    if data is not None:
        given = {"data.name": data.name(), "data.path": examples, **given}
    if config is None and preset is None and (study is None or not path.exists()):
        preset = "quickstart"
    call = [command, *([os.fspath(config)] if config is not None else []), "--study", str(path), "--json"]
    flags = {
        "--preset": preset, "--tuner": tuner, "--client-tuner": client_tuner, "--baseline": baseline, "--seed": seed, "--seeds": seeds, "--workers": workers, "--scale": scale,
    }
    for flag, value in flags.items():
        if value is not None:
            call += [flag, str(value)]
    for key, value in given.items():
        call += ["--set", f"{key}={toml(value)}"]
    try:
        program.call(program.find(binary), [*call, *args], progress)
    except BaseException as e:
        if study is None and not any(path.iterdir()):
            path.rmdir()
        if isinstance(e, program.Error) and examples is not None:
            raise program.Error(str(e).replace(examples, "data")) from None
        raise
    return _left(path, binary)


def _dated(command: str) -> Path:
    """Make a new folder, which no other call gets."""
    name = time.strftime("%Y%m%d-%H%M%S-") + command
    for n in range(1, 1000):
        path = Path("studies") / (name if n == 1 else f"{name}-{n}")
        try:
            path.mkdir(parents=True)
            return path
        except FileExistsError:
            pass
    raise program.Error(f"studies/{name}: a thousand studies began within a second; name one by study=")


def flatten(settings: Settings, prefix: str = "") -> "list[tuple[str, Any]]":
    """Turn a nested mapping into keys with dots. What stands under space, and under options, are names with values of their own."""
    out: "list[tuple[str, Any]]" = []
    for key, value in settings.items():
        if isinstance(value, Mapping) and not prefix.startswith("space."):
            out += flatten(value, f"{prefix}{key}.")
        else:
            out.append((prefix + key, value))
    return out


def toml(value: Any) -> str:
    """Write a value as TOML does."""
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
    raise TypeError(f"{value!r} cannot stand in a study file")
