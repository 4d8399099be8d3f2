#!/usr/bin/env python3
"""Tests of the notebooks that are made of the examples."""

import ast
import json
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from fedfast import examples

try:
    import nbformat
except ImportError:
    nbformat = None


class Notebooks(unittest.TestCase):
    def test_written(self):
        with tempfile.TemporaryDirectory() as directory:
            command = [sys.executable, "-m", "fedfast.examples", str(Path(directory, "new"))]
            printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
            self.assertEqual(len(printed), len(examples.scripts()))
            for file, script in zip(printed, examples.scripts()):
                self.check(Path(file), script.read_text(encoding="utf-8"))
            again = subprocess.run(command, capture_output=True, text=True)
            self.assertEqual((again.returncode, again.stderr), (1, f"{directory}/new/{examples.scripts()[0].name}: File exists\n"))

    def check(self, file, script):
        text = file.read_text(encoding="utf-8")
        book = json.loads(text)
        if nbformat is not None:
            nbformat.validate(book)
        self.assertEqual((book["nbformat"], book["nbformat_minor"]), (4, 5))
        first, *others = book["cells"]
        self.assertEqual(first["cell_type"], "markdown")
        self.assertRegex(first["source"][0], r"^# \w")
        self.assertIn("code", [c["cell_type"] for c in others])
        code = []
        for cell in book["cells"]:
            self.assertRegex(cell["id"], r"^[a-zA-Z0-9_-]{1,64}$")
            self.assertTrue("".join(cell["source"]).strip())
            if cell["cell_type"] == "code":
                self.assertEqual((cell["outputs"], cell["execution_count"]), ([], None))
                ast.parse("".join(cell["source"]))  # no cell ends within a statement
                code += cell["source"]
        lines = [line for line in script.splitlines() if line and not line.startswith("#")]
        self.assertEqual([line.rstrip("\n") for line in code if re.sub(r"^#.*", "", line).strip()], lines)


if __name__ == "__main__":
    unittest.main()
