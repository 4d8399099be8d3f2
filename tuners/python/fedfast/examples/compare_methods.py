# %% [markdown]
# # Compare methods over seeds
# Three methods on the embedded data set, five seeds each: means with 90 % intervals, and a plot for a paper.

# %%
import fedfast

scale = 1.0  # of the rounds; 0.1 takes seconds
mlp = [{"type": "flatten"}, {"type": "dense", "units": 64}, {"type": "relu"}, {"type": "dense"}]
settings = {"client": {"lr": 0.05, "epochs": 3, "batch": 16}, "eval.personalized": False}
methods = {"fedavg": {}, "fedprox": {"client.mu": 0.1}, "scaffold": {}}

# %%
runs = []
for method, own in methods.items():
    runs.append(fedfast.run(data="fashion-small", model=mlp, method=method, settings={**settings, **own, "name": method}, seeds=5, scale=scale))
    error = runs[-1].summary["returned"]["global_test_error"]
    print(f"{method}: test error {100 * error['mean']:.1f} ± {100 * error['half']:.1f} % ({error['n']} seeds, 90 % interval)")

# %% [markdown]
# Lines are means over seeds, bands their intervals. The saved file is a vector graphic.

# %%
figure = fedfast.figures(*runs)["test"]
figure.save("methods.svg")
figure
