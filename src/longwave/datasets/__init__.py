"""Collections with known answers: real sets by name, official files of the field, and a toy set for examples."""

from longwave.datasets.benchmark import Benchmark
from longwave.datasets.matlab import Descriptors, read_author_descriptors, read_mat_truth
from longwave.datasets.oxford import read_oxford_text
from longwave.datasets.revisited import read_revisited, read_revisitop_features
from longwave.datasets.sets import LabelledSet, digits, fashion_mnist, held_out
from longwave.datasets.toy import arcs
from longwave.datasets.truth import GroundTruth
from longwave.files.plain_pickle import read_plain_pickle
from longwave.files.vectors import read_labels, read_vectors

__all__ = [
    "Benchmark",
    "Descriptors",
    "GroundTruth",
    "LabelledSet",
    "arcs",
    "digits",
    "fashion_mnist",
    "held_out",
    "read_author_descriptors",
    "read_labels",
    "read_mat_truth",
    "read_oxford_text",
    "read_plain_pickle",
    "read_revisited",
    "read_revisitop_features",
    "read_vectors",
]
