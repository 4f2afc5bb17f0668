"""How good a ranking is: the Oxford and the revisited protocol, measures at a cut, graded judgements."""

from longwave.evaluation.average_precision import (
    Judgement,
    Mean,
    average_precision,
    label_judgements,
    mean_average_precision,
    mean_over_queries,
)
from longwave.evaluation.ranked import bulls_eye, ndcg, precision_at, recall_at
from longwave.evaluation.revisited import SETUPS, Graded, Revisited, capped_precision_at, evaluate_revisited

__all__ = [
    "SETUPS",
    "Graded",
    "Judgement",
    "Mean",
    "Revisited",
    "average_precision",
    "bulls_eye",
    "capped_precision_at",
    "evaluate_revisited",
    "label_judgements",
    "mean_average_precision",
    "mean_over_queries",
    "ndcg",
    "precision_at",
    "recall_at",
]
