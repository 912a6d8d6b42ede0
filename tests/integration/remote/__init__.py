"""Checkpoints on real HDFS and S3."""
