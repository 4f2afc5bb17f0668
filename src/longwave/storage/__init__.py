"""The index folder: arrays and a manifest, checksums, atomic commits; checkpoints of long builds.

Leans on `rows`, `stores`, `graph` and `spectrum`.
"""
