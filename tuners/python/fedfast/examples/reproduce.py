# %% [markdown]
# # Reproduce a row of a paper
# `fedfast repro list` has the published numbers and curves of the papers on FedEx, FATHOM, FedTune and PerFedRLNAS, with the data and time
# that each takes here. This one needs Fashion-MNIST: Debian's `dataset-fashion-mnist`, or `fedfast data fetch fashion-mnist`.

# %%
import fedfast

scale = 0.1  # of rounds and samples; 1.0 is the paper's and takes hours
rounds = 20  # of the 50 that are left at this scale
report = fedfast.call("repro", "fedtune-table1/fmnist/global", scale=scale, set={"rounds": rounds}, json=True, progress=print)

# %%
for cell in report["cells"]:
    print(f"{cell['name']}: {cell['measured']['mean']:.2f} {cell['unit']}; published {cell['published']['mean']}; {cell['variant']}")

# %% [markdown]
# A report lists everything that is not as in the paper:

# %%
for deviation in report["deviations"]:
    print("-", deviation["text"])
