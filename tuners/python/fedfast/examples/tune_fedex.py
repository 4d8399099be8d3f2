# %% [markdown]
# # Tune with FedEx
# As in the FedEx paper: successive halving (SHA) draws the server's learning rate once per trial, and FedEx sets the hyperparameters of
# clients in each round.

# %%
import fedfast

scale = 1.0  # of the budget; 0.1 takes seconds
study = fedfast.tune(
    data="fashion-small",
    model=[{"type": "flatten"}, {"type": "dense", "units": 64}, {"type": "relu"}, {"type": "dense"}],
    method="fedavgm",
    space={
        "server.lr": {"log10": [-1, 1]},
        "client.lr": {"log10": [-3, 0]},
        "client.epochs": {"int": [1, 5]},
    },
    tuner="sha",
    client_tuner="fedex",
    seed=1,
    scale=scale,
    progress=True,
)

# %%
best = study.best
print("best configuration:", best["params"])
print(f"test error: {100 * best['global_test_error']:.1f} % global, {100 * best['personalized_test_error']:.1f} % personalized")

# %% [markdown]
# The scores of all trials by round, and what the report has besides:

# %%
for name, figure in fedfast.figures(study).items():
    print(f"{name}: {figure.title}")
study.plot("history").save("history.svg")
study.plot("history")
