"""In scikit-learn: an embedding along the manifold in a pipeline, and a classifier that needs few labels."""

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from longwave.estimators import FilteredLabelSpreading, SpectralFilterEmbedding

x, y = load_digits(return_X_y=True)
train, test, y_train, y_test = train_test_split(x, y, test_size=0.4, random_state=0, stratify=y)

grid = GridSearchCV(
    make_pipeline(SpectralFilterEmbedding(n_components=60), LinearSVC()),
    {"spectralfilterembedding__alpha": [0.9, 0.99]},
    cv=2,
).fit(train, y_train)
print(f"embedding, then a linear classifier: {grid.score(test, y_test):.1%} with {grid.best_params_}")

few = np.full(len(y_train), -1)
few[:100] = y_train[:100]
model = FilteredLabelSpreading().fit(train, few)
print(f"100 labels of {len(few)}: {model.score(test, y_test):.1%} of new rows are right")
