"""``keygroups version``: print the versions in use, for bug reports."""

from __future__ import annotations

import platform
import sys

import click

from keygroups._version import __version__
from keygroups.configure import jars, pyspark_version


@click.command()
def version() -> None:
    """Print the versions of the package, its jars, Python and pyspark."""
    click.echo(f"keygroups {__version__}")
    for spark, path in jars().items():
        click.echo(f"jar for Spark {spark}: {path}")
    if not jars():
        click.echo("jar: none")
    click.echo(f"Python {platform.python_version()}: {sys.executable}")
    click.echo(f"pyspark {pyspark_version() or 'is not installed'}")
