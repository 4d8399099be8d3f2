#!/usr/bin/env python3
"""Tests of what notebooks use: figures, tables, displays, and studies of other processes."""

import base64
import html
import inspect
import os
import re
import subprocess
import sys
import tempfile
import time
import types
import unittest
import xml.etree.ElementTree as ET
from pathlib import Path
from unittest import mock

import numpy as np
import fedfast
from test_fedfast import SMALL, samples

SPACE = {"client.lr": {"log10": [-3, 0]}, "client.epochs": {"int": [1, 3]}}
TUNE = {"cohort": 3, "client": {"batch": 5}, "budget": {"rounds": 18, "trial_rounds": 6}, "eval": {"personalized": False}}


class Notebook(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        directory = tempfile.TemporaryDirectory()
        cls.addClassCleanup(directory.cleanup)
        here = os.getcwd()
        os.chdir(directory.name)
        cls.addClassCleanup(os.chdir, here)
        cls.seen = []
        cls.study = fedfast.tune(
            data=samples(), model="logistic", method="fedprox", space=SPACE, settings=TUNE, study="s", tuner="random", client_tuner="none", seed=1,
            on_event=cls.seen.append,
        )

    def test_space(self):
        """The given space replaces the preset's."""
        self.assertEqual(self.study.best["params"].keys(), SPACE.keys())
        self.assertIn('method = "fedprox"', self.study.config)

    def test_events(self):
        self.assertEqual(self.seen, self.study.events())
        self.assertEqual(list(self.study.follow(poll=0.01)), self.seen)
        with self.assertRaises(ZeroDivisionError):  # what the function raises ends the training
            fedfast.run(data=samples(), settings={**SMALL, "rounds": 100000}, study="ended", on_event=lambda event: 1 / 0)
        ended = fedfast.Study("ended")
        self.assertFalse(ended.finished)
        self.assertGreater(len(list(ended.follow(poll=0.01))), 0)  # ends, since nobody trains it
        with self.assertRaisesRegex(fedfast.Error, "no model yet"):
            _ = ended.model

    def test_follow(self):
        code = f"import fedfast, test_fedfast as t\nfedfast.run(data=t.samples(), settings={ {**SMALL, 'rounds': 200} }, study='other')"
        env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path])}
        with subprocess.Popen([sys.executable, "-c", code], env=env):
            while not Path("other/config.toml").exists():
                time.sleep(0.05)
            rounds = [e["round"] for e in fedfast.Study("other").follow(poll=0.05) if e["event"] == "round"]
        self.assertEqual(rounds, list(range(1, 201)))

    def test_resume(self):
        def stop(event):
            raise InterruptedError

        settings = {**SMALL, "rounds": 2000}
        with self.assertRaises(InterruptedError):
            fedfast.run(data=samples(), settings=settings, study="resumed", on_event=stop)
        study = fedfast.Study("resumed")
        self.assertFalse(study.finished)
        self.assertEqual(study.resume().result["weights_sha256"], fedfast.run(data=samples(), settings=settings).result["weights_sha256"])

    def test_figures(self):
        found = self.study.plot()
        self.assertEqual(found.name, "history")
        self.assertGreater(len(found.title), 10)
        self.assertTrue(ET.fromstring(found._repr_svg_()).tag.endswith("svg"))
        found.save("history.svg")
        self.assertEqual(Path("history.svg").read_text(encoding="utf-8"), found.svg)
        self.assertIn("loss", fedfast.figures(self.study))
        with self.assertRaisesRegex(fedfast.Error, "no figure 'histories'; there are .*history"):
            self.study.plot("histories")
        page = self.study._repr_html_()
        shown = self.study.show()
        for said in (*shown["answer"], *(f"Warning: {w}." for w in shown["warnings"])):
            self.assertIn(f"<p>{html.escape(said)}</p>", page)
        self.assertRegex(page, r"<p>Winner of \d+ trials: (trial \d+|the configured values) after .*</p><p>Hyperparameters: .*client\.lr=")
        image = re.search(r'<img alt="Validation error[^"]*" src="data:image/svg\+xml;base64,([^"]*)">$', page)
        self.assertEqual(base64.b64decode(image[1]).decode(), found.svg)
        seeds = fedfast.run(data=samples(), settings=SMALL, seeds=2)
        self.assertEqual(seeds.plot().name, "test")
        self.assertRegex(seeds._repr_html_(), r"2 of 2 seeds completed\.</p><p>(Global|Personalized) test error .* \(mean over 2 seeds, 90 % confidence interval\)\.</p>")

    def test_tables(self):
        trials = self.study.trials
        with mock.patch.dict(sys.modules, pandas=None):
            rows = self.study.trials
        self.assertIsInstance(rows, list)
        self.assertEqual([r["number"] for r in rows], trials["number"].tolist() if hasattr(trials, "columns") else [r["number"] for r in trials])

    def test_call(self):
        self.assertEqual(fedfast.call("data", "info", "fashion-small", json=True)["classes"], 10)
        self.assertTrue(fedfast.call("version").startswith("fedfast "))
        shown = fedfast.call("run", preset="quickstart", set={"rounds": 1, "client": {"lr": 0.5}, "eval.personalized": False}, study="called", json=True)
        self.assertEqual(shown, fedfast.Study("called").result)
        with self.assertRaisesRegex(fedfast.Error, "unknown command"):
            fedfast.call("tunes")

    def test_help(self):
        self.assertIn("on_event", inspect.signature(fedfast.run).parameters)
        self.assertNotIn("space", inspect.signature(fedfast.run).parameters)
        self.assertIn("client_tuner", inspect.signature(fedfast.tune).parameters)
        self.assertIn("baseline: the number", fedfast.tune.__doc__)

    def test_display(self):
        """A notebook has one display, which is updated; fake, since IPython is no dependency."""
        shown = []
        handle = types.SimpleNamespace(update=lambda data, raw: shown.append(data["text/plain"]))
        ipython = types.ModuleType("IPython")
        ipython.get_ipython = lambda: types.SimpleNamespace(kernel=object())
        display = types.ModuleType("IPython.display")
        display.display = lambda data, raw, display_id: handle
        with mock.patch.dict(sys.modules, {"IPython": ipython, "IPython.display": display}):
            fedfast.run(data=samples(), settings=SMALL)
            lines = len(shown)
            fedfast.run(data=samples(), settings=SMALL, progress=False)
        self.assertIn("rounds of 3 clients", shown[0])
        self.assertEqual(len(shown), lines)


class Data(unittest.TestCase):
    def test_forms(self):
        forms = [fedfast.Arrays(x).form() for x in (np.zeros((2, 4, 5)), np.zeros((2, 4)), np.zeros((2, 4), int), np.zeros((2, 4, 5, 3)))]
        self.assertEqual(forms, ["1x4x5", "4", "4tokens", "3x4x5"])

    def test_frame(self):
        try:
            import pandas
        except ImportError:
            self.skipTest("needs pandas")
        given = samples()
        frame = pandas.DataFrame(given.x).assign(label=[f"class {n}" for n in given.y], client=[f"owner {n}" for n in given.client])
        got = fedfast.Arrays.frame(frame)
        self.assertTrue((got.x == given.x).all() and list(got.y) == [f"class {n}" for n in given.y])
        with tempfile.TemporaryDirectory() as directory:
            a = fedfast.run(data=frame, settings=SMALL, study=Path(directory, "a")).result
            b = fedfast.run(data=(given.x, given.y, np.array(got.client)), settings=SMALL, study=Path(directory, "b")).result
        self.assertEqual(a["weights_sha256"], b["weights_sha256"])
        images = pandas.DataFrame({"image": list(np.zeros((3, 4, 4))), "label": [0, 1, 0], "client": [0, 0, 1]})
        self.assertEqual(fedfast.Arrays.frame(images).x.shape, (3, 4, 4))
        with self.assertRaisesRegex(ValueError, "no column 'client'"):
            fedfast.Arrays.frame(frame.drop(columns="client"))


if __name__ == "__main__":
    unittest.main()
