"""The paper's own setting, which most of what is compared with its formulas is built with."""

import longwave as lw


def paper_index(vectors, **options):
    return lw.Index.build(vectors, **{**lw.PAPER, "progress": False, **options})
