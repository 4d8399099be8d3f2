#!/usr/bin/env python3
"""Tests of PyTorch modules in and out; skipped without PyTorch."""

import copy
import tempfile
import unittest
from pathlib import Path

import numpy as np
import fedfast
from test_fedfast import SMALL, samples

try:
    import torch
    from torch import nn
except ImportError:
    torch = None
else:

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.hidden = nn.Linear(5, 8)
            self.head = nn.Linear(8, 3)

        def forward(self, x):
            return self.head(torch.relu(self.hidden(x)))


@unittest.skipIf(torch is None, "needs torch")
class Torch(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.study = Path(directory.name, "s")

    def check(self, module):
        start = {name: tensor.numpy().copy() for name, tensor in module.state_dict().items()}
        settings = {key: value for key, value in SMALL.items() if key != "model"}
        study = fedfast.run(data=samples(), model=module, settings={**settings, "client": {"lr": 1e-6, "epochs": 1, "batch": 5}}, study=self.study)
        self.assertEqual(set(study.model), set(start))
        for name, tensor in study.model.items():  # the module's weights are where the training starts
            self.assertLess(np.abs(tensor - start[name]).max(), 1e-3)
        back, own = study.model.torch(), copy.deepcopy(module)
        own.load_state_dict({name: torch.from_numpy(tensor) for name, tensor in study.model.items()})
        x = torch.from_numpy(samples().x[:4])
        self.assertLess(float((back(x) - module(x)).abs().max()), 1e-2)
        self.assertLess(float((back(x) - own(x)).abs().max()), 1e-5)
        again = fedfast.run(data=samples(), model=module, settings={**settings, "client": {"lr": 1e-6, "epochs": 1, "batch": 5}}, study=self.study)
        self.assertEqual(again.result, study.result)

    def test_layers_of_torch(self):
        torch.manual_seed(1)
        self.check(nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 3)))

    def test_class_of_this_script(self):
        self.check(Net())

    def test_errors(self):
        with self.assertRaisesRegex(fedfast.Error, "nn.PReLU.*not supported as a layer") as caught:
            fedfast.run(data=samples(), model=nn.Sequential(nn.Linear(5, 4), nn.PReLU(), nn.Linear(4, 3)), study=self.study)
        self.assertNotIn("\n", str(caught.exception))
        with self.assertRaisesRegex(TypeError, "needs data of arrays"):
            fedfast.run(data="fashion-small", model=Net(), study=self.study)
        with self.assertRaisesRegex(TypeError, "must be a name"):
            fedfast.run(data=samples(), model=3, study=self.study)


if __name__ == "__main__":
    unittest.main()
