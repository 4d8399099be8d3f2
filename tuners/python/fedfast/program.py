"""The program: where it is, and one call of it."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from threading import Thread
from typing import Callable, Optional, Sequence, Union

Progress = Union[bool, Callable[[str], None], None]


class Error(RuntimeError):
    """What the program says when it cannot do what was asked for, in one line."""


def find(binary: Union[str, "os.PathLike[str]", None] = None) -> str:
    """Return the path of the program: the one that is named, that of the variable FEDFAST, or the first on PATH."""
    name = os.fspath(binary) if binary is not None else os.environ.get("FEDFAST") or "fedfast"
    path = shutil.which(name)
    if path is None:
        raise Error(f"{name}: no such program; build it with `go build ./cmd/fedfast` and put it on PATH, or name it by binary= or FEDFAST")
    return os.path.abspath(path)


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
