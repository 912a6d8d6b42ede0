"""``keygroups conf``: print the configuration that enables the provider."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from typing import Final

import click
import msgspec

from keygroups.configure import jar_path, provider_conf
from keygroups.errors import SettingError


@click.command()
@click.option(
    "--format",
    "form",
    type=click.Choice(["flags", "defaults", "json"]),
    default="flags",
    show_default=True,
    help="Flags of spark-submit, lines of spark-defaults.conf, or a JSON object.",
)
@click.option("--set", "pairs", multiple=True, metavar="NAME=VALUE", help="A setting, without the prefix. Repeatable.")
@click.option("--python", metavar="PATH", help="Interpreter that runs the store on each executor.")
@click.option("--spark", metavar="VERSION", help="Spark to run on, such as 4.3.  [default: the installed pyspark]")
def conf(form: str, pairs: tuple[str, ...], python: str | None, spark: str | None) -> None:
    """Print the configuration that enables the provider."""
    wanted = {"spark.jars": str(jar_path(spark))} | provider_conf(dict(map(_pair, pairs)), python=python)
    click.echo(FORMATS[form](wanted))


def flags(wanted: Mapping[str, str]) -> str:
    """Render a configuration as flags of spark-submit, quoted for the shell.

    Args:
        wanted: Values by their full name in Spark's configuration.

    Returns:
        One line, so that ``spark-submit $(keygroups conf) job.py`` works if no value needs quotes.
    """
    words = [f"--conf {shlex.quote(f'{name}={value}')}" for name, value in wanted.items() if name != "spark.jars"]
    return " ".join([f"--jars {shlex.quote(wanted['spark.jars'])}", *words])


def defaults(wanted: Mapping[str, str]) -> str:
    r"""Render a configuration as lines of spark-defaults.conf. Java properties files escape ``\`` as ``\\``.

    Args:
        wanted: Values by their full name in Spark's configuration.

    Returns:
        One line per setting.
    """
    return "\n".join(f"{name} {value}".replace("\\", "\\\\") for name, value in wanted.items())


def as_json(wanted: Mapping[str, str]) -> str:
    """Render a configuration as an indented JSON object.

    Args:
        wanted: Values by their full name in Spark's configuration.

    Returns:
        The JSON text.
    """
    return msgspec.json.format(msgspec.json.encode(wanted)).decode()


FORMATS: Final[dict[str, Callable[[Mapping[str, str]], str]]] = {"flags": flags, "defaults": defaults, "json": as_json}


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise SettingError("--set is not valid", expected="NAME=VALUE", found=repr(text))
    return name, value
