"""The server process: one beside each executor JVM, called over py4j."""
