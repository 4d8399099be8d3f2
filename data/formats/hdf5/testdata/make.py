#!/usr/bin/python3
"""Writes the HDF5 files of the tests, in TensorFlow Federated's form, with h5py
(Debian: python3-h5py). The values are formulas that the tests repeat."""
import os
import sys

import h5py
import numpy as np

out = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.abspath(__file__))


def images(client, n):
    """n images of bytes / 255, as float32."""
    i = np.arange(n * 28 * 28).reshape(n, 28, 28)
    return ((i * 7 + client) % 256).astype(np.float32) / np.float32(255)


def write(name, clients, **options):
    with h5py.File(os.path.join(out, name), "w", **options) as f:
        group = f.create_group("examples")
        for c, features in clients:
            g = group.create_group(c)
            for key, value in features.items():
                g.create_dataset(key, **value)


def emnist(clients, start):
    for c in range(clients):
        n = 1 + c % 3
        yield "f%04d_%02d" % (c, c % 50), {
            "pixels": {"data": images(start + c, n), "compression": "gzip", "shuffle": c % 2 == 0},
            "label": {"data": np.array([(c + i) % 10 for i in range(n)], dtype=np.int32)},
        }


text = h5py.string_dtype("utf-8")
plays = [("THE_PLAY_ROLE_%d" % c,
          {"snippets": {"data": ["To be %d" % c, "", "né " * 30][:1 + c % 3], "dtype": text}}) for c in range(5)]

if os.environ.get("MANY"):  # 3,400 writers: trees of several levels
    write("many.h5", (("f%04d_%02d" % (c, c % 50), {"label": {"data": np.arange(1 + c % 3)}}) for c in range(3400)))
else:
    write("fed_emnist_train.h5", emnist(12, 0))
    write("fed_emnist_test.h5", emnist(14, 100))
    write("shakespeare_train.h5", plays)
    write("shakespeare_test.h5", plays[:2])
    cifar = [(str(c), {
        "image": {"data": ((np.arange(2 * 3072) * (c + 3)) % 256).reshape(2, 32, 32, 3).astype(np.uint8), "chunks": (1, 16, 20, 3), "compression": "gzip"},
        "label": {"data": np.array([c, 99 - c], dtype=np.int64)},
        "coarse_label": {"data": np.array([c, 19 - c], dtype=np.int64)},
    }) for c in range(3)]
    write("fed_cifar100_train.h5", cifar)
    write("fed_cifar100_test.h5", cifar[:1])
    with h5py.File(os.path.join(out, "kinds.h5"), "w") as f:
        f["int8"] = np.array([-1, 127], dtype=np.int8)
        f["uint16"] = np.array([[65535], [1]], dtype=np.uint16)
        f["float64"] = np.array([0.5, -2.0])
        f["single"] = np.int32(-7)
        f["fixed"] = np.array([b"ab", b"c"], dtype="S3")
        f["big"] = np.array([1, 2], dtype=">i4")
        f["none"] = np.zeros((0, 3), dtype=np.float32)
        f.create_dataset("fletcher", data=np.arange(100, dtype=np.int32), chunks=(7,), fletcher32=True, compression="gzip", shuffle=True)
        f.create_dataset("sparse", shape=(100,), chunks=(10,), dtype=np.int32)[0] = 1
        f.create_dataset("grown", data=np.arange(60).reshape(3, 4, 5), chunks=(2, 3, 2), maxshape=(None, None, None))
        f.create_dataset("lzf", data=np.arange(100), compression="lzf", chunks=(50,))
    with h5py.File(os.path.join(out, "latest.h5"), "w", libver="latest") as f:
        f["x"] = np.arange(3)
