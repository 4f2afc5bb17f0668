"""What `longwave info` and a server say of an index: a summary in plain words, and the numbers for experts.

Leans on `collection`, `pictures` and `texts`.
"""

from longwave.inspection.details import describe, describe_collection
from longwave.inspection.summary import summarize

__all__ = ["describe", "describe_collection", "summarize"]
