"""A collection in two dimensions: every item at a place of its own, near to what the graph joins it with."""

from longwave.layout.whole import positions

__all__ = ["positions"]
