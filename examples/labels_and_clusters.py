"""Spread fifty labels to everything, find clusters, and clean a noisy signal, all with one index."""

import numpy as np

import longwave as lw

data = lw.datasets.digits()
index = lw.Index.build(data.vectors, progress=False)

rng = np.random.default_rng(0)
known = np.concatenate([rng.choice(np.flatnonzero(data.labels == c), 5, replace=False) for c in range(10)])
spread = index.propagate({int(i): int(data.labels[i]) for i in known})
right = spread.labels == data.labels
sure = spread.confidence > np.median(spread.confidence)
print(f"50 labels: {right.mean():.1%} of {len(right)} are right, of the surest half {right[sure].mean():.1%}")

clusters = index.cluster(10)
pure = sum(np.bincount(data.labels[clusters.labels == c]).max() for c in range(10))
print(f"10 clusters without any label: {pure / len(right):.1%} are of the commonest digit of their cluster")

noisy = (data.labels == 3) + rng.normal(scale=0.5, size=len(right))
error = [np.abs(signal - (data.labels == 3)).mean() for signal in (noisy, index.smooth(noisy, lw.LowPass(0.9)))]
print(f"a noisy signal: mean error {error[0]:.2f}, smoothed along the graph {error[1]:.2f}")
