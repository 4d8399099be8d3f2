"""The program: where it is, and one call of it."""

from __future__ import annotations

import json
import os
import queue
import re
import shutil
import signal
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from threading import Thread
from typing import IO, Any, Callable, Optional, Sequence, Union

Progress = Union[bool, Callable[[str], None], None]


class Error(RuntimeError):
    """A failure that the program reports in one line."""


def find() -> str:
    """Return the path of the program: that of the variable FEDFAST, the one installed with this package, or the first on PATH."""
    name = os.environ.get("FEDFAST") or _installed() or "fedfast"
    path = shutil.which(name)
    if path is None:
        raise Error(f"{name}: program not found; install a wheel of fedfast, put the program on PATH, or set FEDFAST to its path")
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


def call(args: Sequence[str], progress: Progress = None, watch: Optional[Callable[[], object]] = None, notes: Optional[list[str]] = None) -> str:
    """Run the program and return what it prints.

    progress receives the lines of stderr: True prints them, or updates one display in a notebook; None does so in a notebook only. watch is
    called several times a second; what it raises ends the program at once. notes gets the program's notes on data, unless progress shows
    them. Ctrl-C is passed on: the program then finishes its round, saves the study and prints how to resume it. A second one ends it at once.
    """
    show = _printer(progress)
    windows = os.name == "nt"
    with subprocess.Popen(
        [find(), *args], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8", errors="replace",
        start_new_session=not windows, creationflags=subprocess.CREATE_NEW_PROCESS_GROUP if windows else 0,  # type: ignore[attr-defined]
    ) as process:
        lines: queue.Queue[Optional[str]] = queue.Queue()
        out: list[str] = []
        threads = [Thread(target=_read, args=(process.stderr, lines), daemon=True)]
        threads.append(Thread(target=lambda: out.append(process.stdout.read()), daemon=True))  # type: ignore[union-attr]
        for thread in threads:
            thread.start()
        last: list[str] = []
        line: Optional[str] = ""
        interrupted = False
        while line is not None:
            try:
                while line is not None:  # in here, so that no Ctrl-C falls between two lines
                    try:
                        line = lines.get(timeout=0.2)
                        if line:
                            last = [*last[-19:], line]
                            show(line)
                            if notes is not None and progress is None and re.match(r"(npz|parquet)(-\w+)?: (?!\d+ clients, |normalized by )", line):
                                notes.append(line)
                    except queue.Empty:
                        pass
                    if watch is not None:
                        watch()
            except KeyboardInterrupt:
                if interrupted:
                    process.kill()
                else:
                    process.send_signal(signal.CTRL_BREAK_EVENT if windows else signal.SIGINT)  # type: ignore[attr-defined]
                interrupted = True
            except BaseException:
                process.kill()
                raise
        code = process.wait()
        for thread in threads:
            thread.join()
    if interrupted:
        raise KeyboardInterrupt
    if code != 0:
        raise Error(_reason(last, code))
    return out[0]


def ask(*args: str) -> Any:
    """Run the program and return the JSON that it prints."""
    return json.loads(call([*args, "--json"], progress=False))


def _read(stream: IO[str], lines: "queue.Queue[Optional[str]]") -> None:
    for line in stream:
        lines.put(line.rstrip("\n"))
    lines.put(None)


def _printer(progress: Progress) -> Callable[[str], None]:
    if callable(progress):
        return progress
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None and progress is not False else None
    if shell is not None and hasattr(shell, "kernel"):
        return _display()
    return (lambda line: print(line, file=sys.stderr, flush=True)) if progress else lambda line: None


def _display() -> Callable[[str], None]:
    """Show the latest lines in one display of a notebook."""
    from IPython.display import display  # type: ignore[import-not-found]

    lines: list[str] = []
    shown: Any = display({"text/plain": ""}, raw=True, display_id=True)

    def show(line: str) -> None:
        lines[:] = [*lines[-7:], line]
        shown.update({"text/plain": "\n".join(lines)}, raw=True)

    return show


def _reason(lines: Sequence[str], code: int) -> str:
    said = [line[len("fedfast: "):] for line in lines if line.startswith("fedfast: ")]
    return (said or [*lines] or [f"the program ended with exit code {code}"])[-1]
