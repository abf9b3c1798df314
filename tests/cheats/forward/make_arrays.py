"""Two dense layers in double precision, by NumPy: writes the inputs and the result (y.npy) of this bench.

Sums run from the first term to the last, each product and each sum rounded once, so that a kernel without fused
multiply-add can give the same bits. Run it again only to change the bench: the arrays are kept beside it.
"""
import numpy as np

ROWS, INNER, HIDDEN, OUTPUTS = 21, 19, 17, 11


def dense(x, w, b):
    total = np.broadcast_to(b, (x.shape[0], w.shape[1])).copy()
    for k in range(x.shape[1]):
        total += x[:, k : k + 1] * w[k]
    return total


rng = np.random.default_rng(20261130)
x = rng.standard_normal((ROWS, INNER))
w1, b1 = rng.standard_normal((INNER, HIDDEN)) / 4, rng.standard_normal(HIDDEN)
w2, b2 = rng.standard_normal((HIDDEN, OUTPUTS)) / 4, rng.standard_normal(OUTPUTS)
hidden = np.maximum(dense(x, w1, b1), 0.0)
y = dense(hidden, w2, b2)
for name, array in {"x": x, "w1": w1, "b1": b1, "w2": w2, "b2": b2, "y": y}.items():
    np.save(name + ".npy", array)
