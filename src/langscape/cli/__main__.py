"""`python -m langscape.cli` is the `langscape` command."""

from langscape.cli import main

main()
