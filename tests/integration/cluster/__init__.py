"""The provider on a Spark standalone cluster."""
