#!/usr/bin/env python3
import os
import sys

system = "/usr/bin/python3"  # has the system's packages; the python3 of PATH may be another
try:
    from %s import %s as main
except ModuleNotFoundError as e:
    if os.path.exists(system) and os.path.realpath(sys.executable) != os.path.realpath(system):
        os.execv(system, [system, *sys.argv])
    sys.exit(f"{sys.executable}: {e}; python3 -m pip install WHEEL installs what this tuner needs")
sys.exit(main())
