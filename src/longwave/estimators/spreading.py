"""`FilteredLabelSpreading`: a classifier for few labels, in the form of scikit-learn's `LabelSpreading`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from longwave.errors import InputError
from longwave.estimators.indexed import Indexed
from longwave.types import Array


@dataclass(kw_only=True, eq=False, repr=False)
class FilteredLabelSpreading(ClassifierMixin, Indexed):  # type: ignore[misc]
    """Labels spread along the graph, for samples without one and for new rows.

    unlabeled: the value of y that stands for "not known", −1 as in `LabelSpreading`; None where all are known. prior:
    "equal" or "labels", as in `Index.propagate`. `transduction_` has the labels of the samples. Other parameters:
    `Indexed`.
    """

    prior: str = "equal"
    unlabeled: Any = -1

    def fit(self, X: Any, y: Any) -> FilteredLabelSpreading:
        """Build the graph and spread the labels. X: (n, d), or the weights of a graph (n, n). y: (n,)"""
        y = self._make_index(X, y=y, ensure_all_finite=True)
        check_classification_targets(y)
        known = np.ones(len(y), dtype=bool) if self.unlabeled is None else np.asarray(y != self.unlabeled)
        self.classes_ = np.unique(y[known])
        if not len(self.classes_):
            raise InputError(f"no sample has a label: all of y is {self.unlabeled!r}")
        numbers = np.full(len(y), -1)
        numbers[known] = np.searchsorted(self.classes_, y[known])
        made = self.index_.propagate(numbers, filter=self._h, prior=self.prior)
        self.label_distributions_ = np.where(made.reached[:, None], made.scores, 1 / len(self.classes_))
        self.label_distributions_[known] = np.eye(len(self.classes_))[numbers[known]]
        self.reached_ = made.reached
        self.transduction_ = self.classes_[self.label_distributions_.argmax(axis=1)]
        return self

    def predict_proba(self, X: Any) -> Array:
        """How far rows belong to each class: means over the samples around them. (m, d) -> (m, C)"""
        check_is_fitted(self, "label_distributions_")
        found = np.asarray(self._shares(X) @ self.label_distributions_)
        total = found.sum(axis=1, keepdims=True)
        return np.where(total > 0, found / np.maximum(total, 1e-30), 1 / len(self.classes_))

    def predict(self, X: Any) -> Array:
        """The class of each row. (m, d) -> (m,)"""
        best = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[best])
