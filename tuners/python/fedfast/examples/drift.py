# %% [markdown]
# # Drift and personalization
# Clients whose pictures differ pull a common model in different directions. What that costs, what SCAFFOLD gives back, and what a model
# of each client's own does. `fedfast help drift` tells the same in commands.

# %%
import fedfast

scale = 1.0  # of the rounds; 0.1 takes seconds
alike, apart = {"data.partition": "iid"}, {"data.alpha": 0.3}
common = {"data.clients": 20, "rounds": 60, "client": {"epochs": 5, "lr": 0.05}}
trainings = {"alike": ("fedavg", alike), "fedavg": ("fedavg", apart), "scaffold": ("scaffold", apart), "ditto": ("ditto", apart)}

# %%
runs = []
for name, (method, clients) in trainings.items():
    settings = {**common, **clients, "name": name}
    runs.append(fedfast.run(preset="quickstart", model="logistic", method=method, settings=settings, scale=scale))
    result = runs[-1].result
    print(f"{name}: global test error {100 * result['global_test_error']:.1f} %, personalized {100 * result['personalized_test_error']:.1f} %")

# %% [markdown]
# The curve of FedAvg goes up and down where clients differ: each round pulls it towards those that trained.

# %%
fedfast.figures(*runs)["test"]
