"""The corpus: where a campaign keeps its calls, features, findings and history, and the seeds it starts from."""
