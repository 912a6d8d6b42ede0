"""``python -m keygroups.bridge``: started by the JVM, which writes one line and then keeps standard input open."""

from keygroups.bridge.process import run

run()
