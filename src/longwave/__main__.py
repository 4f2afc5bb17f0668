"""`python -m longwave`: the command line."""

from longwave.cli import main

if __name__ == "__main__":
    main()
