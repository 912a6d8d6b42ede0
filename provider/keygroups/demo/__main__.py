"""``python -m keygroups.demo``: see ``--help``."""

import sys

try:
    from keygroups.demo.cli import main
except ModuleNotFoundError as missing:
    sys.exit(f"Error: the demo needs {missing.name}: run `pip install 'spark-keygroups[demo]'`")

main(prog_name="python -m keygroups.demo")
