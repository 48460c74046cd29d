"""Prints a page of docs/: that of the flags, or of the feature gates for the argument ``gates`` (see ``make docs``)."""

import sys

from orchd.config.help import flags_markdown, gates_markdown
from orchd.config.table import table

sys.stdout.write(gates_markdown() if sys.argv[1:] == ["gates"] else flags_markdown(table()))
