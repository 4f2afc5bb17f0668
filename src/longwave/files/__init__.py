"""Files of others: vectors and tables in every usual format, read in bounded memory.

Leans on `rows`.
"""
