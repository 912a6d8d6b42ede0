"""The demo: a year of flights streamed through three stateful queries, each answer checked against a batch job."""
