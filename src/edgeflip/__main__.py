"""`python -m edgeflip`, the same as the command `edgeflip`."""

from edgeflip.cli import main

if __name__ == "__main__":
    main()
