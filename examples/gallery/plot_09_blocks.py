"""
More rows than memory: blocks
=============================

:meth:`psvm.LinearPSVC.fit_blocks` takes the rows block by block, each loaded when its turn comes.
The result is that of all rows together, certificate included.
"""

import tempfile
import time
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from psvm import LinearPSVC


class Files:
    """A block per file; any object with a length and items will do."""

    def __init__(self, paths):
        self.paths = paths
        self.loads = [(0.0, 0)]
        self.began = time.perf_counter()

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, k):
        self.loads.append((time.perf_counter() - self.began, len(self.loads)))
        part = np.load(self.paths[k])
        return part[:, :-1], part[:, -1]


# %%
# Twelve files of 40,000 rows each:

folder = tempfile.TemporaryDirectory()
rng = np.random.default_rng(0)
weights = rng.normal(size=20)
paths = [Path(folder.name) / f"{k}.npy" for k in range(12)]
for path in paths:
    X = rng.normal(size=(40_000, 20)).astype(np.float32)
    y = X @ weights + rng.normal(0, 3, size=len(X)) > 0
    np.save(path, np.column_stack([X, y]))

blocks = Files(paths)
model = LinearPSVC(p=1.5).fit_blocks(blocks)
print(f"{len(blocks.loads) - 1} blocks loaded, gap {model.dual_gap_[0]:.1e}")

# %%
# A fit of many rows starts from the solution of a sample (the level stretch), so that some ten
# passes over all of them do:

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
seconds, loads = np.array(blocks.loads).T
left.step(seconds, loads / len(paths), where="post", color="#0072b2")
left.set(xlabel="seconds", ylabel="passes over the files")
right.plot(weights / np.linalg.norm(weights), "o", color="0.6", ms=9, label="that made the labels")
found = model.coef_[0] / np.linalg.norm(model.coef_)
right.plot(found, "x", color="#d55e00", label="found")
right.set(xlabel="feature", ylabel="weight, scaled")
right.legend(frameon=False)
folder.cleanup()
