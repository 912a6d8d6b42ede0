"""Entry point of the command ``keygroups``."""

from __future__ import annotations

from typing import Any

import click

from keygroups.errors import KeygroupsError
from keygroups.tools.conf import conf
from keygroups.tools.mend import mend
from keygroups.tools.settings import settings
from keygroups.tools.version import version


class Commands(click.Group):
    """A group of commands. An error of Keygroups ends a command with one sentence and exit code 1."""

    def invoke(self, ctx: click.Context) -> Any:  # noqa: ANN401 - click's own signature
        """Run the command.

        Args:
            ctx: The parsed command line.

        Returns:
            What the command returns.

        Raises:
            click.ClickException: The command failed with an error of Keygroups.
        """
        try:
            return super().invoke(ctx)
        except KeygroupsError as error:
            raise click.ClickException(str(error)) from error


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
def main() -> None:
    """Keygroups: a state store provider for Spark Structured Streaming."""


for command in (conf, mend, settings, version):
    main.add_command(command)
