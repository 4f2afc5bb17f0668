"""What manifold search is compared with. Every ranker is a value, called as ranker(index, queries, k) -> Hits.

Leans on `index` and `search`.
"""

from longwave.baselines.diffusion import TruncatedDiffusion
from longwave.baselines.expansion import DatabaseAugmentation, QueryExpansion
from longwave.baselines.manifold import Manifold
from longwave.baselines.ranker import Ranker
from longwave.baselines.rmatch import RegionMatch

__all__ = ["DatabaseAugmentation", "Manifold", "QueryExpansion", "Ranker", "RegionMatch", "TruncatedDiffusion"]
