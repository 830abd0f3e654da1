"""`python -m adlint`."""

from adlint.cli import main

if __name__ == "__main__":
    main()
