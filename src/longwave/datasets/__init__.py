"""Real sets that ship with ordinary packages, a toy set for examples, and readers of vector files."""

from longwave.datasets.files import read_labels, read_vectors
from longwave.datasets.sets import LabelledSet, digits, fashion_mnist, held_out
from longwave.datasets.toy import arcs

__all__ = ["LabelledSet", "arcs", "digits", "fashion_mnist", "held_out", "read_labels", "read_vectors"]
