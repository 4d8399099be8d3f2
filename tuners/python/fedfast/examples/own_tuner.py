# %% [markdown]
# # Your own tuner
# A tuner is a program that fedfast starts. `tuner new` writes a working one, here with a sampler of Optuna. Needs optuna and grpcio.

# %%
from pathlib import Path

import grpc
import optuna

import fedfast

scale = 1.0  # of the budget
print(f"grpcio {grpc.__version__}, Optuna {optuna.__version__}")
if not Path("mine").exists():
    print(fedfast.call("tuner", "new", "mine", lang="optuna"))

# %% [markdown]
# Change it: quasi-random points instead of the TPE sampler.

# %%
file = Path("mine/tuner.py")
_ = file.write_text(file.read_text().replace("TPESampler(seed=seed)", "QMCSampler(scramble=True, seed=7)"))

# %% [markdown]
# Check it without training: within the budget, and with the same decisions in another process. Without `only` there are 15 checks.

# %%
report = fedfast.call("tuner", "check", "./mine", only="determinism", json=True, progress=False)
for check in report["checks"]:
    print(f"{check['name']}: {check['verdict']}, {check['about']}")

# %%
study = fedfast.tune(
    data="synthetic", model="logistic", tuner="mine", tuner_path="mine", client_tuner="none",
    space={"client.lr": {"log10": [-3, 0]}, "client.batch": {"log2": [2, 5]}},
    settings={"budget": {"rounds": 400, "trial_rounds": 50}}, seed=1, scale=scale,
)
print("best configuration:", study.best["params"])
study.plot()
