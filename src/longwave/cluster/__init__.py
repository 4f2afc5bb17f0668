"""The offline stage on many machines: Ray or Dask carry the work, Longwave says what it is.

`Cluster` is all that is asked of an engine: `put`, `submit`, `gather`. A build cuts the collection into blocks of rows
and hands out plain functions of blocks. They depend on their arguments alone, so an engine may run any of them again
where a worker was lost.

    longwave build shards/ -o photos.longwave --cluster ray://head:10001
    Index.build(vectors, cluster="dask:local[3]")
"""

from longwave.cluster.engine import Cluster, InProcess
from longwave.cluster.opening import opened

__all__ = ["Cluster", "InProcess", "opened"]
