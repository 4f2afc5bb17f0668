"""`python -m longwave`."""

from longwave.cli import main

if __name__ == "__main__":
    main()
