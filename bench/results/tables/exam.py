# Writes exam.npz, the pupils of Exam.csv.gz (r-cran-mlmrev's data): their school is the client, and their score at 16
# is to be predicted from what was known of them at 11.
import csv, gzip, sys
import numpy as np

rows = list(csv.DictReader(gzip.open(sys.argv[1], "rt")))
levels = {c: sorted({r[c] for r in rows})[1:] for c in ("sex", "schgend", "vr", "intake", "type")}
x = [[float(r["standLRT"]), float(r["schavg"])] + [float(r[c] == v) for c in levels for v in levels[c]] for r in rows]
y = [[float(r["normexam"])] for r in rows]
np.savez(sys.argv[2], x=np.array(x, "f4"), y=np.array(y, "f4"), client=np.array([r["school"] for r in rows]))
