"""How good a search is: `evaluate` with known answers, and the measures it is made of.

Leans on the index. The readers of official ground truth are in `longwave.datasets`.
"""

from longwave.evaluation.average_precision import (
    Judgement,
    Mean,
    average_precision,
    label_judgements,
    mean_average_precision,
    mean_over_queries,
)
from longwave.evaluation.measuring import evaluate
from longwave.evaluation.ranked import bulls_eye, ndcg, precision_at, recall_at
from longwave.evaluation.report import Evaluation, Measured
from longwave.evaluation.revisited import SETUPS, Graded, Revisited, capped_precision_at, evaluate_revisited
from longwave.evaluation.truth import GroundTruth, Labels, judgements_from
from longwave.evaluation.truth_file import is_json, judgements_from_file, read_truth_file

__all__ = [
    "evaluate", "Evaluation", "Measured",
    "Judgement", "Graded", "GroundTruth", "Labels", "judgements_from", "judgements_from_file", "read_truth_file",
    "is_json",
    "average_precision", "mean_average_precision", "mean_over_queries", "Mean", "label_judgements",
    "precision_at", "recall_at", "ndcg", "bulls_eye",
    "SETUPS", "Revisited", "capped_precision_at", "evaluate_revisited",
]  # fmt: skip
