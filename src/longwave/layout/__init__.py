"""A collection in two dimensions: its map, and the graph around a query. Leans on the snapshot and its basis.

`positions` is a place for every item, `graph_positions` the part of that which outlives what is added and removed;
`neighborhood` is what lies between a query and one of its hits. Always the same for the same graph.
"""

from longwave.layout.local import Neighborhood, neighborhood
from longwave.layout.whole import graph_positions, positions, prepare

__all__ = ["Neighborhood", "graph_positions", "neighborhood", "positions", "prepare"]
