"""Servers that tests start and stop: an S3 server behind a gateway that counts and fails requests, and an HDFS cluster."""
