"""`python -m benchmarks`: all of them, at sizes that take minutes."""

from benchmarks import basis, growth, neighbors

neighbors.exact()
basis.main()
growth.main()
