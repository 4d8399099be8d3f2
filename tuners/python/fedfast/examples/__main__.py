"""python -m fedfast.examples DIR"""

import sys
from pathlib import Path

from . import write

if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
    sys.exit("usage: python -m fedfast.examples DIR: write notebooks and scripts into a directory")
try:
    for path in write(Path(sys.argv[1])):
        print(path)
except OSError as e:
    sys.exit(f"{e.filename}: {e.strerror}")
