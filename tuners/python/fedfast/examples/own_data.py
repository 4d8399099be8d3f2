# %% [markdown]
# # Your own arrays
# Tune a model on NumPy arrays, and look at the result. Here 40 clients hold noisy stripes of 12 x 12 pixels: horizontal, vertical or
# diagonal, and each client mostly one of them.

# %%
import numpy as np

import fedfast

scale = 1.0  # of the budget
draws = np.random.default_rng(0)
n, clients = 2000, 40
owner = draws.integers(0, clients, n)
shares = draws.dirichlet([0.5] * 3, clients)
y = np.array([draws.choice(3, p=shares[c]) for c in owner])
rows, columns = np.mgrid[0:12, 0:12]
patterns = np.stack([np.sin(rows), np.sin(columns), np.sin(rows + columns)])
x = np.clip(0.5 + 0.25 * patterns[y] + draws.normal(0, 1, (n, 12, 12)), 0, 1).astype(np.float32)

# %%
study = fedfast.tune(
    data=fedfast.Arrays(x, y, client=owner),
    model="logistic",
    space={"client.lr": {"log10": [-3, 0]}, "client.epochs": {"int": [1, 3]}},
    tuner="random",
    client_tuner="none",
    settings={"cohort": 8, "budget": {"rounds": 600, "trial_rounds": 120}},
    seed=1,
    scale=scale,
    progress=True,
)
print("best configuration:", study.best["params"])
print(f"test error: {100 * study.best['global_test_error']:.1f} % of the global model")

# %% [markdown]
# Trials are a `pandas.DataFrame` if pandas is installed. Weights are arrays by PyTorch's names: each class has learned its own stripes.

# %%
print(study.trials)
weights = study.model["dense1.weight"].reshape(3, 12, 12)
print("each class weighs its own stripes:", [bool((w * p).sum() > 0) for w, p in zip(weights, patterns - patterns.mean(0))])
study
