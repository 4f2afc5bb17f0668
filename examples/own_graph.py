"""Use a graph of your own: personalised PageRank from any items, without a vector."""

import networkx as nx

import longwave as lw

club = nx.karate_club_graph()  # or edges [(a, b), (a, b, weight)], or a sparse matrix
index = lw.Index.build(graph=club, progress=False)

seeds = {0: 2.0, 5: 1.0}
hits = index.search(seeds=seeds, k=5, kind="pagerank", filter=lw.LowPass(0.85), tolerance=1e-8)
theirs = nx.pagerank(club, alpha=0.85, personalization=seeds)
for name, score in zip(hits.ids[0].tolist(), hits.scores[0], strict=True):
    print(f"member {name}: {score:.4f}, networkx {theirs[name]:.4f}")
print("along the manifold, popular members do not win:", index.search(seeds=seeds, k=5).ids[0])
