"""``python -m pushsalt``: the same as the ``pushsalt`` command."""

from pushsalt.cli.__main__ import main

if __name__ == "__main__":
    main()
