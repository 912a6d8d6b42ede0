"""Run a command."""

from __future__ import annotations

import subprocess

import click


def run(command: list[str]) -> str:
    """Run a command to its end and give its output; its errors go to the terminal.

    Raises:
        click.ClickException: it failed.
    """
    done = subprocess.run(command, check=False, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        raise click.ClickException(f"{' '.join(command[:2])} failed with exit code {done.returncode}:\n{done.stdout}")
    return done.stdout
