"""`python -m adlint`."""

import sys

if __name__ == "__main__":
    if not getattr(sys.flags, "safe_path", False):
        del sys.path[0]  # the current folder, whose modules are what is linted

    from adlint.cli import main

    main()
