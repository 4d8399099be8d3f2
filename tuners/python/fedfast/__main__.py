"""python -m fedfast: the program, with the same arguments."""

import os
import subprocess
import sys

from . import program


def main() -> int:
    try:
        call = [program.find(), *sys.argv[1:]]
    except program.Error as e:
        print(f"fedfast: {e}", file=sys.stderr)
        return 1
    if os.name == "posix":
        os.execv(call[0], call)
    return subprocess.call(call)


sys.exit(main())
