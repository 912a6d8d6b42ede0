"""What switches the provider on: its jar, its class name and its settings."""

from __future__ import annotations

import os
import re
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

from keygroups.errors import SettingError, VersionError
from keygroups.settings import PREFIX, declaration

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PROVIDER_CLASS: Final = "spark.sql.streaming.stateStore.providerClass"
"""Spark's setting that names the state store provider."""

PROVIDER: Final = "io.keygroups.spark.KeyGroupStateStoreProvider"
"""The provider's class in the jar."""

EXTENSIONS_SETTING: Final = "spark.sql.extensions"
"""Spark's setting that lists what extends a session."""

EXTENSIONS: Final = "io.keygroups.spark.KeyGroupExtensions"
"""The class in the jar that opens transformWithState for the provider."""

_JARS: Final = Path(__file__).with_name("jars")
_NO_JAR: Final = "run `make jar`, or install the wheel (--py-files leaves it a zip: there, use `keygroups conf`)"
_JAR_NAME: Final = re.compile(r"keygroups-spark(\d+)\.(\d+)_2\.13\.jar")


def configure(builder: SparkSession.Builder, *, python: str | None = None, **settings: object) -> SparkSession.Builder:
    """Switch the provider on for a session that is about to be built.

    A session that already runs does not get the jar: stop it first.

    Args:
        builder: The builder of the session. What it lists in ``spark.jars`` and ``spark.sql.extensions`` is kept.
        python: Interpreter that runs the store on each executor. The default is what the builder has for it; without
            that it is this interpreter for a local master, and the executor's own otherwise. With a local master,
            Spark's Python workers get the same, by ``PYSPARK_PYTHON``, unless that is set. A builder without a master
            is for a local one, unless ``spark-submit`` runs this program or ``PYSPARK_SUBMIT_ARGS`` has a master. Where
            ``spark-defaults.conf`` names the master of a cluster, give ``python``.
        **settings: Settings by their name without the prefix, such as ``overlayBytes="128m"``.

    Returns:
        The same builder.

    Raises:
        SettingError: A setting is unknown or not valid, or the builder is for a Spark Connect server.
        VersionError: The package has no jar for the installed pyspark.
    """
    options: dict[str, object] = getattr(builder, "_options", {})
    if str(options.get("spark.remote", "local")).startswith("sc:"):
        raise SettingError("a Spark Connect client cannot load jars", fix="put `keygroups conf` on the server")
    local = _is_local(options)
    if python is None and PREFIX + "python" not in options and local:
        python = sys.executable
    if local and "spark.pyspark.python" not in options:
        os.environ.setdefault("PYSPARK_PYTHON", python or sys.executable)  # else Spark takes the first python3 of PATH
    wanted = provider_conf({name: str(value) for name, value in settings.items()}, python=python)
    lists = {"spark.jars": str(jar_path()), EXTENSIONS_SETTING: EXTENSIONS}
    for name, ours in lists.items():
        listed = [*filter(None, str(options.get(name, "")).split(",")), ours]
        wanted[name] = ",".join(dict.fromkeys(listed))
    for name, value in wanted.items():
        builder.config(name, value)
    return builder


def _is_local(options: dict[str, object]) -> bool:
    named_elsewhere = "PYSPARK_GATEWAY_PORT" in os.environ or "--master" in os.environ.get("PYSPARK_SUBMIT_ARGS", "")
    return str(options.get("spark.master", "" if named_elsewhere else "local")).startswith("local")


def provider_conf(settings: dict[str, str], *, python: str | None = None) -> dict[str, str]:
    """Put together the configuration of the provider, all but its jar.

    Args:
        settings: Text by name, names without the prefix.
        python: Interpreter that runs the store on each executor, or None for the executor's own.

    Returns:
        Values by their full name in Spark's configuration.

    Raises:
        SettingError: A name is unknown, or a value is not valid.
    """
    given = settings | ({"python": python} if python else {})
    for name, text in given.items():
        declaration(name).parse(text)
    return {PROVIDER_CLASS: PROVIDER, EXTENSIONS_SETTING: EXTENSIONS} | {PREFIX + n: text for n, text in given.items()}


def jar_path(spark: str | None = None) -> Path:
    """Find the jar that fits a Spark.

    Args:
        spark: Version of Spark, such as ``"4.3"`` or ``"4.3.1"``. The default is that of the installed pyspark, and
            without pyspark the newest Spark that there is a jar for.

    Returns:
        Absolute path of the jar in this package.

    Raises:
        VersionError: There is no jar for this Spark, or none at all.
    """
    built = jars()
    if not built:
        raise VersionError("this copy of keygroups has no jar", path=_JARS, fix=_NO_JAR)
    spark = spark or pyspark_version() or next(reversed(built))
    minor = ".".join(spark.split(".")[:2])
    if minor not in built:
        fix = "install the keygroups that is built for this Spark, or a Spark that this one is built for"
        raise VersionError(
            "keygroups has no jar for this Spark", expected="Spark " + " or ".join(built), found=spark, fix=fix
        )
    return built[minor]


def jars() -> dict[str, Path]:
    """List the jars of this package by the minor version of Spark that each is built for, oldest first."""
    matches = sorted(
        (int(m[1]), int(m[2]), path) for path in _JARS.glob("*.jar") if (m := _JAR_NAME.fullmatch(path.name))
    )
    return {f"{major}.{minor}": path for major, minor, path in matches}


def pyspark_version() -> str | None:
    """Tell the version of the installed pyspark, or None where there is none."""
    if find_spec("pyspark") is None:
        return None
    from pyspark import __version__  # an executor's interpreter may have none

    return str(__version__)
