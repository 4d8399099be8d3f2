#!/usr/bin/env python3
"""Tests of the package with the program that FEDFAST names, or the one on PATH."""

import datetime
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import warnings
from decimal import Decimal
from pathlib import Path
from unittest import mock

import numpy as np

import fedfast
from fedfast.settings import flatten, toml


def samples(n=120, clients=6):
    draws = np.random.default_rng(1)
    y = draws.integers(0, 3, n)
    x = draws.normal(size=(n, 5)).astype(np.float32)
    x[np.arange(n), y] += 4
    return fedfast.Arrays(x, y, client=np.arange(n) % clients)


SMALL = {"model": "logistic", "rounds": 3, "cohort": 3, "client": {"lr": 0.1, "epochs": 1, "batch": 5}}


class Package(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        here = os.getcwd()
        os.chdir(self.folder.name)
        self.addCleanup(os.chdir, here)

    def test_run(self):
        lines = []
        study = fedfast.run(data=samples(), settings=SMALL, seed=3, progress=lines.append)
        self.assertTrue(study.finished)
        self.assertLess(study.best["global_test_error"], 0.5)
        self.assertTrue(any("npz-vectors" in line for line in lines), lines)
        model = study.model
        self.assertEqual({k: v.shape for k, v in model.items()}, {"dense1.weight": (3, 5), "dense1.bias": (3,)})
        self.assertTrue(all(np.isfinite(v).all() and np.any(v != 0) for v in model.values()))
        self.assertEqual([e["round"] for e in study.events() if e["event"] == "round"], [1, 2, 3])
        again = fedfast.run(data=samples(), settings=SMALL, seed=3, workers=1)
        self.assertNotEqual(again.path, study.path)
        self.assertEqual(again.result["weights_sha256"], study.result["weights_sha256"])
        rounds = study.table("rounds")
        self.assertEqual(len(rounds), 3)
        column = rounds["round"].tolist() if hasattr(rounds, "columns") else [r["round"] for r in rounds]
        self.assertEqual(column, [1, 2, 3])

    def test_tune(self):
        settings = {
            "model": "logistic", "cohort": 3, "budget": {"rounds": 12, "trial_rounds": 3}, "eval": {"personalized": False},
            "space": {"client.lr": {"log10": [-3, 0]}},
        }
        study = fedfast.tune(data=samples(), settings=settings, study="s", tuner="random", client_tuner="none", seed=np.int64(2))
        self.assertEqual(len(study.trials), 4)
        self.assertIn("client.lr", study.best["params"])
        self.assertTrue(0.001 <= study.best["params"]["client.lr"] <= 1)
        # Equal settings: the finished study, not another one.
        again = fedfast.tune(data=samples(), settings=settings, study="s", tuner="random", client_tuner="none", seed=2)
        self.assertEqual(again.result, study.result)
        self.assertEqual(fedfast.tune(study="s").result, study.result)
        self.assertEqual(fedfast.resume("s").result, study.result)
        self.assertEqual(fedfast.Study("s").result, study.result)

    def test_seeds(self):
        few = fedfast.run(data=samples(), settings=SMALL, study="s", seed=4, seeds=2)
        self.assertEqual(few.summary["rounds"]["n"], 2)
        seeds = fedfast.run(data=samples(), settings=SMALL, study="s", seed=4, seeds=3)
        self.assertTrue(seeds.finished)
        self.assertEqual([s.path.name for s in seeds.studies], ["seed-4", "seed-5", "seed-6"])
        self.assertEqual([s.best for s in seeds.studies][:2], [s.best for s in few.studies][:2])
        errors = [s.best["global_test_error"] for s in seeds.studies]
        got = seeds.summary["returned"]["global_test_error"]
        self.assertAlmostEqual(got["mean"], np.mean(errors))
        self.assertAlmostEqual(got["sd"], np.std(errors, ddof=1))
        self.assertAlmostEqual(got["half"], 2.919985580353726 * np.std(errors, ddof=1) / np.sqrt(3))  # Student's t with 2 degrees of freedom
        alone = fedfast.run(data=samples(), settings=SMALL, seed=5)
        self.assertEqual(alone.result["weights_sha256"], seeds.studies[1].result["weights_sha256"])
        self.assertEqual(fedfast.resume("s").summary, fedfast.Seeds("s").summary)
        with self.assertRaisesRegex(fedfast.Error, "contains studies of several seeds"):
            fedfast.run(data=samples(), settings=SMALL, study="s", seed=4)
        with self.assertRaisesRegex(fedfast.Error, "contains no studies of several seeds"):
            fedfast.Seeds(alone.path)

    def test_errors(self):
        for settings, want in (({"cohrt": 3}, "cohort"), ({"client": {"lr": -1}}, "client.lr")):
            with self.assertRaisesRegex(fedfast.Error, want) as caught:
                fedfast.run(data=samples(), settings={**SMALL, **settings})
            self.assertNotIn("\n", str(caught.exception))
            self.assertNotIn("--set", str(caught.exception))
        with self.assertRaisesRegex(fedfast.Error, r"^client.lr = -1e-06: client.lr"):
            fedfast.run(data=samples(), settings={**SMALL, "client.lr": -1e-6})
        with self.assertRaisesRegex(fedfast.Error, "contains no study"):
            fedfast.Study("nowhere")
        with mock.patch.dict(os.environ, FEDFAST="nowhere/fedfast"), self.assertRaisesRegex(fedfast.Error, "program not found"):
            fedfast.run()
        self.assertEqual([name for name in os.listdir("studies") if name.endswith("run")], [])
        with self.assertRaisesRegex(ValueError, "must be one of"):
            fedfast.run(data=fedfast.Arrays(np.zeros((3, 4)), kind="sounds"))
        with self.assertRaisesRegex(ValueError, "x: value 0 is missing"):
            fedfast.run(data=fedfast.Arrays(np.array([[1], [None]])))
        with self.assertRaisesRegex(TypeError, "run takes no tuner"):
            fedfast.run(tuner="random")
        with self.assertRaisesRegex(TypeError, "no option sede"):
            fedfast.tune(sede=3)
        with self.assertRaisesRegex(TypeError, "data: must be"):
            fedfast.run(data=[1, 2])

    def test_interrupt(self):
        settings = {**SMALL, "rounds": 10_000_000}  # hours: a loaded machine takes seconds to look
        script = "import sys, fedfast, test_fedfast as t\nfedfast.run(data=t.samples(), settings=%r, study='s')" % settings
        env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path])}
        with subprocess.Popen([sys.executable, "-c", script], stderr=subprocess.PIPE, text=True, env=env) as child:
            until = time.monotonic() + 120
            while not (os.path.exists("s/config.toml") and fedfast.Study("s").events()):
                self.assertLess(time.monotonic(), until, "no round within two minutes")
                time.sleep(0.05)
            child.send_signal(signal.SIGINT)
            self.assertIn("KeyboardInterrupt", child.communicate(timeout=60)[1])
        study = fedfast.Study("s")
        self.assertFalse(study.finished)
        with self.assertRaisesRegex(fedfast.Error, "not finished"):
            _ = study.best
        self.assertGreater(len(study.table("rounds")), 0)

    def test_values(self):
        self.assertEqual(
            flatten({"a": 1, "client": {"lr": 0.5}, "space": {"client.lr": {"log10": [-1, 0]}}}),
            [("a", 1), ("client.lr", 0.5), ("space.client.lr", {"log10": [-1, 0]})],
        )
        values = [True, 3, 0.5, 'a "b"\n', [1, "x"], {"choice": [0, 0.9]}, np.float64(0.25), np.array([1, 2])]
        self.assertEqual(
            [toml(v) for v in values], ["true", "3", "0.5", json.dumps('a "b"\n'), '[1, "x"]', '{"choice" = [0, 0.9]}', "0.25", "[1, 2]"]
        )
        with self.assertRaisesRegex(TypeError, "has no form"):
            toml(None)

    def test_kinds(self):
        names = [fedfast.Arrays(x).name() for x in (np.zeros((2, 4, 4)), np.zeros((2, 4)), np.zeros((2, 4), int), np.zeros((2, 4, 4, 3)))]
        self.assertEqual(names, ["npz-images", "npz-vectors", "npz-tokens", "npz-images"])
        self.assertEqual(samples().save("."), samples().save("."))
        self.assertEqual(len(list(Path(".").glob("*.npz"))), 1)

    def test_forms(self):
        x, y = np.arange(8).reshape(4, 2), np.arange(4)
        with self.assertRaisesRegex(ValueError, 'say kind="vectors" or kind="tokens"'):
            fedfast.Arrays(x, y).name()
        self.assertEqual([fedfast.Arrays(x, y, kind="tokens").name(), fedfast.Arrays(x > 2, y).name(), fedfast.Arrays(x * 0.5, y).name()], ["npz-tokens", *["npz-vectors"] * 2])
        with self.assertRaisesRegex(ValueError, "y: some values are masked"):
            fedfast.Arrays(x * 0.5, np.ma.masked_equal(y, 2)).save(".")
        for name, want in (("npz-vectors", "npz-vectors"), ("npz-tokens", "npz-tokens")):
            self.assertEqual(fedfast.arrays.arrays((x, y), name).name(), want)
        records = np.zeros(4, [("a", "f4"), ("b", "f4")])
        for given, want in (
            ((records, y), r"x holds records; .* numpy.column_stack\(\[x\[f\] for f in \['a', 'b'\]\]\)"), ((x * 0.5, y.view("V8")), r'y holds bytes .*; .* save y.astype\("float32"\)'),
            ((x * 0.5, y, (y + 2**60) * 1.0), "client: ids from 9007199254740992 are rounded in float64, .* read them as texts"),
            ((x * 0.5, y, np.float32(y + 2**24)), "client: ids from 16777216 are rounded in float32"), ((x * 0.5, y, [2**70 + 1] * 4), "client holds int; "),
        ):
            with self.subTest(want=want), self.assertRaisesRegex(ValueError, want):
                fedfast.Arrays(*given)
        self.assertEqual(fedfast.Arrays(x, y, [-1, 2**53 - 1, 7.0, 7.0]).client.tolist(), [-1, 2**53 - 1, 7, 7])

    def test_frames(self):
        try:
            import pandas as pd
        except ImportError:
            self.skipTest("no pandas")

        def taken(label, client=("a", "b", "a", "b")):
            a = fedfast.Arrays.frame(pd.DataFrame({"client": client, "f": range(4), "label": label}))
            return a.y.dtype.kind, a.y.tolist(), a.client.tolist()

        self.assertEqual(taken([0.5, 2.5, 1.0, 9.0])[:2], ("f", [0.5, 2.5, 1.0, 9.0]))
        self.assertEqual(taken([10, 9, 10, 9])[:2], ("i", [10, 9, 10, 9]))
        self.assertEqual(taken([True, False, True, True])[0], "b")
        self.assertEqual(taken(["b", "a", "b", "b"])[:2], ("U", ["b", "a", "b", "b"]))
        self.assertEqual(taken(pd.array([1, 0, 1, 1], dtype="Int64"))[:2], ("i", [1, 0, 1, 1]))
        self.assertEqual(taken(pd.Categorical(["low", "high", "mid", "low"], ["low", "mid", "high"]))[1], [0, 2, 1, 0])
        self.assertEqual(taken([1, 0, 1, 0], [7.0, 7.0, 8.0, 8.0])[2], [7, 7, 8, 8])
        for names in (["b", "a", "b", "a"], [300, 10, 300, 10]):
            self.assertEqual(taken([1, 0, 1, 0], pd.Categorical(names))[2], names)
        whole = pd.DataFrame({"client": list("abab"), "f": [1.5, 2, 3, 4], "t": range(4), "b": [True, False] * 2, "label": list("uvuv")}).convert_dtypes()
        a = fedfast.Arrays.frame(whole)
        self.assertEqual((a.x.tolist()[0], a.y.tolist(), a.client.tolist(), a.name()), ([1.5, 0, 1], list("uvuv"), list("abab"), "npz-vectors"))
        b = fedfast.Arrays(whole[["f", "t", "b"]], whole[["label"]], pd.Index(whole["client"]))
        self.assertEqual((b.x.tolist(), b.y.tolist(), b.client.tolist()), (a.x.tolist(), a.y.tolist(), a.client.tolist()))
        c = fedfast.Arrays(whole[["f"]], pd.Categorical(["z", "y", "z", "y"], ["z", "y"]), pd.array([3, 3, 9, 9], "Int64"))
        self.assertEqual((c.y.tolist(), c.client.tolist()), ([0, 1, 0, 1], [3, 3, 9, 9]))
        with self.assertRaisesRegex(ValueError, r"y_test: the categories \['y'\] are not those of y, \['y', 'z'\]; y_test.cat.set_categories"):
            fedfast.Arrays([[0.5]] * 2, pd.Series(["y", "z"], dtype="category"), x_test=[[0.5]], y_test=pd.Series(["y"], dtype="category"))
        late = pd.DataFrame({"client": range(4), "f": [1.6e9 + i for i in range(4)], "label": range(4)})
        self.assertEqual(fedfast.Arrays.frame(late).x.ravel().tolist(), late["f"].tolist())
        lists = pd.DataFrame({"client": [0, 1], "label": [0, 1], "ids": [[1, 2], [2, 3]]})
        self.assertEqual(fedfast.Arrays.frame(lists, kind="tokens").name(), "npz-tokens")
        whole.loc[2, "t"] = pd.NA
        with self.assertRaisesRegex(ValueError, "column 't': row 2 has no value"):
            fedfast.Arrays.frame(whole)
        with self.assertRaisesRegex(ValueError, r"the frame has no column 'client'; frame.reset_index\(\)"):
            fedfast.Arrays.frame(whole.set_index("client"))
        for bad, way in ((pd.to_timedelta(range(4), "h"), r"frame\['f'\].dt.total_seconds"), (pd.date_range("2020", periods=4, tz="UTC"), r"\(frame\['f'\] - frame\['f'\].min\(\)\).dt.total_seconds")):
            with self.assertRaisesRegex(ValueError, "features must be numbers: " + way):
                fedfast.Arrays.frame(pd.DataFrame({"client": range(4), "f": bad, "label": range(4)}))
        for bad in ([1.5, None, 2, 3], ["a", None, "b", "c"], pd.array([1, None, 1, 1], dtype="Int64"), pd.Categorical(["a", None, "b", "a"])):
            with self.assertRaisesRegex(ValueError, "column 'label': row 1 has no value"):
                taken(bad)
        for bad in (["a", 1, "b", 2], pd.date_range("2020", periods=4, tz="UTC"), [Decimal(1)] * 4):
            with self.assertRaisesRegex(ValueError, "must be numbers, or texts"):
                taken(bad)
        with self.assertRaisesRegex(ValueError, "column 'client': row 2 has no value"):
            taken([1, 0, 1, 0], ["a", "b", None, "a"])
        with self.assertRaisesRegex(ValueError, "column 'f' is of type object, features must be numbers"):
            fedfast.Arrays.frame(pd.DataFrame({"client": [0, 1], "f": ["red", "blue"], "g": [1, 2], "label": [0, 1]}))

    def test_taken(self):
        """What each form of labels, clients and samples is taken for: a warning, none (""), or one line that says what converts them."""
        draws = np.random.default_rng(0)
        n, x, c = 90, draws.normal(size=(90, 2)), np.repeat(np.arange(3), 30)
        y = np.arange(n) % 3
        part = np.where(np.arange(n) % 7 == 0, 255, y)
        objects = np.array(["a", "b", "c"], object)[y]
        for labels, want in (
            (y.astype("u1"), ""), (y.astype(">i8"), ""), (y[:, None], ""), (y.astype(object), ""), (y == 0, ""), (x[:, 0].astype("f2"), ""), (x[:, :1].astype("g"), ""),
            (objects, "the classes are the 3 names"), (np.char.encode(objects.astype(str)), "the classes are the 3 names"), ((y == 0) * 255, "0 and 255 are taken for the classes 0 and 1"),
            ((y == 0) * 2 - 1, "-1 and 1 are taken"), (y * 1.0, "though all are whole"), (np.eye(3)[y], "each row has one 1"), (np.eye(3, dtype=int)[y], "exactly one of the labels"),
            (np.where(y == 0, -999, x[:, 0]), "30 of the 90 numbers to predict are -999, far from all others"),
            (part, "Error: .* 13 of 90 labels are 255, the others 0 to 2; .* keep = y != 255; x, y, client = "), (y - 1, "Error: .* keep = y >= 0; x, y, client = "),
            (draws.integers(100_000, 900_000, n), r'Error: .* 90 different integers from .* save y.astype\("float32"\) if they are numbers'),
            (np.where(y == 1, np.nan, y), r"Error: .* value \[1\] is NaN, .* keep = numpy.isfinite"), (x[:, 0] * 1j, r"Error: .* numpy.column_stack\(\[y.real, y.imag\]\)"),
            (np.datetime64("2020-01-01") + y.astype("m8[D]"), r"Error: .* save \(y - numpy.datetime64"), (np.where(y == 0, "?", "a"), "Error: .* stands for a missing value"),
            (np.where(y == 1, None, objects), "ValueError: y: value 1 is missing"), ([Decimal(int(v)) / 3 for v in y], "ValueError: y holds Decimal; .*float"),
            ([datetime.date(2020, 1, 1)] * n, "ValueError: y holds date; .*v.toordinal"), (np.where(y == 1, 1, objects), "ValueError: y holds int, str; "),
        ):
            self.takes((x, labels, c), want)
        for clients, want in (
            (c * 1.0, ""), (c.astype(object), ""), (c.astype("S2"), ""), (c + 0.5, r"Error: .* 0.5 names a client; .* client.astype\(str\)"), (np.where(y == 1, np.nan, c), "Error: .* value .1. is NaN, .* keep = numpy.isfinite"),
        ):
            self.takes((x, y, clients), want)
        pictures = draws.integers(0, 256, (n, 6, 6, 3))
        for samples, want in (
            (np.asfortranarray(x), ""), (x.astype("f2"), ""), (list(x), ""), (pictures.astype("u1"), ""), (list(pictures.astype("u1")), ""), (pictures / 255, ""),
            (pictures * 1.0, "taken as they are, where networks expect about 0 to 1"), (pictures.transpose(0, 3, 1, 2).astype("u1"), "Error: .* looks like channels first"),
            (pictures.astype("u2"), "Error: .* is of type uint16"), ([f"a text {v}" for v in y], "Error: .* holds texts; .*to_parquet"), (x[:, 0], r"Error: .* save x.reshape\(-1, 1\)"), (x * 0, "all values of array x are 0"),
            (x[:0], "Error: .* there are no samples"), ([[1.0], [1.0, 2.0]] * 45, r"ValueError: x: samples have the shapes \(1,\) and \(2,\)"), (x.astype(str), r'Error: .* x.astype\("float32"\)'),
        ):
            self.takes((samples, y if len(samples) else y[:0], c if len(samples) else c[:0]), want)

    def takes(self, data, want):
        with self.subTest(want=want), warnings.catch_warnings(record=True) as notes:
            warnings.simplefilter("always")
            try:
                fedfast.run(data=data, model="logistic", settings={"rounds": 1, "cohort": 2})
                got = "\n".join(str(note.message) for note in notes if str(note.message).startswith("npz-"))  # the others are of the model
            except Exception as e:
                got = f"{type(e).__name__}: {e}"
            self.assertRegex(got, want or "^$")

    def test_notes_and_measure(self):
        draws = np.random.default_rng(0)
        x = draws.normal(size=(80, 2)).astype("f4")
        with self.assertWarnsRegex(UserWarning, "npz-vectors: the array y holds floats, so they are numbers to predict"):
            study = fedfast.run(data=(x, np.sign(x[:, 0]) * 1.0, np.repeat(np.arange(4), 20)), model="logistic", settings={"rounds": 2, "cohort": 2})
        self.assertEqual(study.best["global_test_rmse"], study.best["global_test_error"])
        self.assertIn("<p>Global test RMSE ", study._repr_html_())

    def test_warnings(self):
        """What study show warns of is a warning, once, in the line of the call."""
        x = np.random.default_rng(0).normal(size=(80, 2)).astype("f4")
        settings = {"model": "logistic", "rounds": 3, "cohort": 2, "client": {"lr": 1e20}}
        for call in (
            lambda: fedfast.run(data=(x, x[:, 0], np.arange(80) % 4), settings=settings, study="one", progress=False),
            lambda: fedfast.resume("one"),
            lambda: fedfast.run(data=(x, x[:, 0], np.arange(80) % 4), settings=settings, study="two", seeds=2, progress=False),
        ):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                study = call()
            said = [str(w.message) for w in caught]
            self.assertEqual(said, study.show()["warnings"])
            self.assertRegex("\n".join(said), "diverged: .*; try a smaller client.lr")
            self.assertEqual({w.filename for w in caught}, {__file__})
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            fedfast.run(data=samples(), settings={**SMALL, "rounds": 20}, progress=False)

    def test_orders(self):
        x = np.arange(12.0).reshape(4, 3)
        for order in ("F", "C"):
            path = fedfast.Arrays(np.asarray(x, order=order), y=np.arange(4)).save("orders")
            with np.load(path) as file:
                self.assertTrue(file["x"].flags.c_contiguous)
                self.assertTrue((file["x"] == x).all())
        self.assertEqual(len(list(Path("orders").glob("*.npz"))), 1)


if __name__ == "__main__":
    unittest.main()
