"""Prints docs/flags.md, generated from the flag tables: ``python -m orchd.config > docs/flags.md``."""

import sys

from orchd.config.help import flags_markdown
from orchd.config.table import table

sys.stdout.write(flags_markdown(table()))
