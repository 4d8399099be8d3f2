# %% [markdown]
# # Your own PyTorch model
# Train a `torch.nn.Module` in a federation, and get it back. PyTorch defines the model; fedfast's kernels train it. Needs torch.

# %%
import numpy as np
import torch
from torch import nn

import fedfast

scale = 1.0  # of the rounds
torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 8, 3, padding=1), nn.GroupNorm(2, 8), nn.SiLU(), nn.MaxPool2d(2), nn.Flatten()
        )
        self.head = nn.Linear(8 * 6 * 6, 2)

    def forward(self, x):
        return self.head(self.features(x))


# %% [markdown]
# 30 clients hold noisy horizontal or vertical stripes of 12 x 12 pixels.

# %%
draws = np.random.default_rng(0)
y = draws.integers(0, 2, 1200)
stripes = np.sin(np.mgrid[0:12, 0:12])
x = (stripes[y] + draws.normal(0, 4, (1200, 12, 12))).astype(np.float32)

net = Net()
study = fedfast.run(
    data=(x, y, draws.integers(0, 30, 1200)),
    model=net,  # training starts from its weights
    method="fedavg",
    settings={"rounds": 40, "cohort": 10, "client": {"lr": 0.1, "epochs": 2, "batch": 10}},
    scale=scale,
)
print(f"test error: {100 * study.best['global_test_error']:.1f} %")

# %%
trained = study.model.torch()
with torch.no_grad():
    images = torch.from_numpy(x)[:, None]
    for name, module in (("before", net.eval()), ("after", trained)):
        print(f"{name}: {100 * float((module(images).argmax(1).numpy() != y).mean()):.1f} % of all samples are wrong")
study.plot()
