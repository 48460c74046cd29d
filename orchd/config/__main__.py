"""``python -m orchd.config > docs/flags.md``: the documentation of flags, from the tables."""

import sys

from orchd.config.help import flags_markdown
from orchd.config.table import table

sys.stdout.write(flags_markdown(table()))
