"""The program: where it is, and one call of it."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from threading import Thread
from typing import Callable, Optional, Sequence, Union

Progress = Union[bool, Callable[[str], None], None]


class Error(RuntimeError):
    """What the program says when it cannot do what was asked for, in one line."""


def find(binary: Union[str, "os.PathLike[str]", None] = None) -> str:
    """Return the path of the program: the named one, that of the variable FEDFAST, the one installed with this package, or the first on PATH."""
    name = os.fspath(binary) if binary is not None else os.environ.get("FEDFAST") or _installed() or "fedfast"
    path = shutil.which(name)
    if path is None:
        raise Error(f"{name}: program not found; install a wheel of fedfast, put the program on PATH, or set FEDFAST or binary=")
    return os.path.abspath(path)


def _installed() -> Optional[str]:
    """Return the path of the program in the wheel from which this package was installed."""
    site = Path(__file__).resolve().parents[1]
    name = "fedfast.exe" if os.name == "nt" else "fedfast"
    for wheel in metadata.Distribution.discover(name="fedfast", path=[str(site)]):
        for file in wheel.files or ():
            if file.name == name and (path := Path(str(wheel.locate_file(file))).resolve()).is_file():
                return str(path)
    path = site / "bin" / name  # pip install --target
    return str(path) if path.is_file() else None


def call(binary: str, args: Sequence[str], progress: Progress = None) -> str:
    """Run the program and return what it prints. progress gets the lines of stderr as they come; True prints them there.

    An interrupt (Ctrl-C) is passed on once: the program then ends its round, saves the study and says how to resume it.
    """
    show = (lambda line: print(line, file=sys.stderr, flush=True)) if progress is True else progress or (lambda line: None)
    with subprocess.Popen(
        [binary, *args], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace", start_new_session=True
    ) as process:
        last: list[str] = []
        out: list[str] = []
        reader = _thread(lambda: out.append(process.stdout.read()))  # type: ignore[union-attr]
        interrupted = False
        while True:
            try:
                line = process.stderr.readline()  # type: ignore[union-attr]
                if not line:
                    break
                line = line.rstrip("\n")
                if line:
                    last = [*last[-19:], line]
                    show(line)
            except KeyboardInterrupt:
                process.send_signal(signal.SIGKILL if interrupted else signal.SIGINT)
                interrupted = True
            except BaseException:
                process.kill()
                raise
        code = process.wait()
        reader.join()
    if interrupted:
        raise KeyboardInterrupt
    if code != 0:
        raise Error(_reason(last, code))
    return out[0]


def _thread(target: Callable[[], object]) -> Thread:
    thread = Thread(target=target, daemon=True)
    thread.start()
    return thread


def _reason(lines: Sequence[str], code: int) -> str:
    for line in reversed(lines):
        if line.startswith("fedfast: "):
            return line[len("fedfast: "):]
    return lines[-1] if lines else f"the program ended with exit code {code}"
