"""Servers that tests start and stop: S3 behind a gateway that counts and fails requests, and an HDFS cluster."""
