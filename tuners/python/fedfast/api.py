"""Training, tuning and everything else that the program does."""

from __future__ import annotations

import inspect
import itertools
import json as _json
import os
import time
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable, Optional, TypedDict, Union, overload

from . import program
from .arrays import Data, arrays
from .net import import_module
from .program import Progress
from .seeds import Seeds, holds_seeds
from .settings import flatten, only, toml
from .study import Study, Tail

if TYPE_CHECKING:
    import torch
    from typing_extensions import Unpack

PathLike = Union[str, "os.PathLike[str]"]


class Options(TypedDict, total=False):
    """Options of run and tune. They override the keys of the study file or preset.

    preset: the name of a preset; by default quickstart, without a study file.
    data: Arrays, a tuple (x, y) or (x, y, client), a pandas.DataFrame (see Arrays.frame), or the name of a dataset. Arrays are saved beside
        the study's directory.
    model: the name of a model, a list of layers as dicts, or a torch.nn.Module, whose weights are where training starts.
    method: the name of a federated method.
    settings: keys of a study file, nested or with dots: {"rounds": 100, "client": {"lr": 0.1}}; `fedfast list keys` describes them.
    study: the study's directory, new or to resume with equal settings; by default a dated one below "studies".
    seed, workers, scale: as on the command line.
    progress: True prints the program's lines to stderr, or updates one display in a notebook; a function receives them one by one; by default
        they are shown in notebooks only, and elsewhere its notes on data become warnings. What is wrong with the model always does.
    on_event: a function that receives each round, rung and finalist, as Study.events lists them. What it raises ends the training.
    """

    preset: str
    data: Data
    model: "Union[str, Sequence[Mapping[str, Any]], torch.nn.Module]"
    method: str
    settings: "Mapping[str, Any]"
    study: PathLike
    seed: int
    workers: int
    scale: float
    progress: Progress
    on_event: "Callable[[dict[str, Any]], object]"


class TuneOptions(Options, total=False):
    """Options of tune alone.

    space: the search space, such as {"client.lr": {"log10": [-3, 0]}}. It replaces a preset's, and extends a study file's.
    tuner, client_tuner: names; "none" disables one.
    tuner_path: the directory of a tuner of your own.
    baseline: the number of random configurations with which to compare, or "equal".
    """

    space: "Mapping[str, Any]"
    tuner: str
    client_tuner: str
    tuner_path: PathLike
    baseline: Union[int, str]


@overload
def run(config: Optional[PathLike] = None, *, seeds: int, **options: "Unpack[Options]") -> Seeds: ...
@overload
def run(config: Optional[PathLike] = None, *, seeds: None = None, **options: "Unpack[Options]") -> Study: ...
def run(config: Optional[PathLike] = None, *, seeds: Optional[int] = None, **options: Any) -> "Union[Study, Seeds]":
    """Train one federation without tuning, and return it as a Study. config is a study file; Options lists the options.

    With seeds it is repeated with that many consecutive seeds, and Seeds is returned. Failures raise an Error.
    """
    for name in ("space", "tuner", "client_tuner", "tuner_path", "baseline"):
        if name in options:
            raise TypeError(f"run takes no {name}; tune does")
    return _start("run", config, seeds=seeds, **options)


@overload
def tune(config: Optional[PathLike] = None, *, seeds: int, **options: "Unpack[TuneOptions]") -> Seeds: ...
@overload
def tune(config: Optional[PathLike] = None, *, seeds: None = None, **options: "Unpack[TuneOptions]") -> Study: ...
def tune(config: Optional[PathLike] = None, *, seeds: Optional[int] = None, **options: Any) -> "Union[Study, Seeds]":
    """Tune the hyperparameters of a federated training, and return the Study. See run; TuneOptions lists more options."""
    return _start("tune", config, seeds=seeds, **options)


def _describe(function: "Callable[..., Any]", *options: Any) -> None:
    """Show the options in the signature and the documentation of a function, as notebooks and help() do."""
    names = dict.fromkeys(name for o in options for name in o.__annotations__)
    keyword = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None) for name in ("seeds", *names)]
    config = inspect.Parameter("config", inspect.Parameter.POSITIONAL_OR_KEYWORD, default=None)
    function.__signature__ = inspect.Signature([config, *keyword])  # type: ignore[attr-defined]
    function.__doc__ = "\n\n".join(inspect.cleandoc(o.__doc__ or "") for o in (function, *options))


_describe(run, Options)
_describe(tune, Options, TuneOptions)


def resume(study: PathLike, *, progress: Progress = None) -> "Union[Study, Seeds]":
    """Resume an interrupted study, training or repetition over seeds. What has finished is returned as it is."""
    program.call(["study", "resume", os.fspath(study), "--json"], progress)
    return _left(study, [], 3)


def call(*command: str, json: bool = False, progress: Progress = None, **flags: Any) -> Any:
    """Run any command of the program: call("data", "info", "fashion-small", json=True), call("report", "mine", out="mine.html").

    flags are the command's: True for one without a value, a list to repeat it, a mapping for KEY=VALUE in TOML. Returns what the command
    prints, with json parsed.
    """
    out = program.call([*command, *_arguments({"json": json, **flags})], progress)
    return _json.loads(out) if json else out


def _arguments(flags: "Mapping[str, Any]") -> "list[str]":
    args: "list[str]" = []
    for name, value in flags.items():
        flag = "--" + name.replace("_", "-")
        if isinstance(value, Mapping):
            value = [f"{k}={toml(v)}" for k, v in flatten(value)]
        for v in value if isinstance(value, (list, tuple)) else [value]:
            if v is True:
                args.append(flag)
            elif v is not None and v is not False:
                args += [flag, str(v)]
    return args


def _left(path: PathLike, notes: "list[str]", level: int) -> "Union[Study, Seeds]":
    """Return what a call has left, and warn of the program's notes and of what is wrong with the model. level is warn's stacklevel."""
    study: "Union[Study, Seeds]" = Seeds(path) if holds_seeds(path) else Study(path)
    for text in dict.fromkeys([*notes, *study.show()["warnings"]]):
        warnings.warn(text, stacklevel=level)
    return study


def _start(
    command: str,
    config: Optional[PathLike],
    *,
    preset: Optional[str] = None,
    data: Any = None,
    model: Any = None,
    method: Optional[str] = None,
    space: "Optional[Mapping[str, Any]]" = None,
    settings: "Optional[Mapping[str, Any]]" = None,
    study: Optional[PathLike] = None,
    progress: Progress = None,
    on_event: "Optional[Callable[[dict[str, Any]], object]]" = None,
    **flags: Any,
) -> "Union[Study, Seeds]":
    unknown = flags.keys() - {"tuner", "client_tuner", "tuner_path", "baseline", "seed", "seeds", "workers", "scale"}
    if unknown:
        raise TypeError(f"{command} takes no option {min(unknown)}")
    path = Path(study) if study is not None else _dated(command)
    notes: "list[str]" = []  # on data, which the program shows
    file: PathLike = "\0"  # of the samples, which messages call data
    given: "dict[str, Any]" = {"method": method} if method is not None else {}
    keys = dict(flatten(settings or {}))
    try:
        begun = (path / "config.toml").exists() and all(v is None for v in (data, model, method, space, settings))
        if config is None and preset is None and not begun:
            preset = "quickstart"
        if isinstance(data, str):
            given["data.name"] = data
        elif data is not None:
            data = arrays(data, str(keys.get("data.name", "")))
            file = data.save(path.absolute().parent)
            given.update({"data.name": data.name(), "data.path": file})
        if isinstance(model, str):
            given["model"] = model
        elif isinstance(model, (list, tuple)):
            given["model.layers"] = model
        elif model is not None:
            if config is not None or data is None or isinstance(data, str):
                raise TypeError("model: a module needs data of arrays, and no study file")
            config = import_module(model, data.form(), path.absolute().parent)
        if space is not None:
            given.update(only(space, preset) if preset is not None else {f"space.{name}": dim for name, dim in space.items()})
        given.update(keys)
        sets = [f"{key}={toml(value)}" for key, value in given.items()]
        args = _arguments({"preset": preset, "set": sets, "study": path, "json": True, **flags})
        tail = Tail(path / "metrics.jsonl")
        watch = None if on_event is None else lambda: [on_event(event) for event in tail.new()]
        program.call([command, *([os.fspath(config)] if config is not None else []), *args], progress, watch, notes)
    except BaseException as e:
        if study is None and not any(path.iterdir()):
            path.rmdir()
        if isinstance(e, program.Error):
            text = str(e).replace(str(file), "data")
            for key, value in given.items():
                text = text.replace(f"--set {key}={toml(value)}", f"{key} = {value!r}")
            raise program.Error(text) from None
        raise
    return _left(path, notes, 4)


def _dated(command: str) -> Path:
    """Make a new directory, which no other call gets."""
    path = begin = Path("studies", time.strftime("%Y%m%d-%H%M%S-") + command)
    for n in itertools.count(2):
        try:
            path.mkdir(parents=True)
            break
        except FileExistsError:
            path = Path(f"{begin}-{n}")
    return path
