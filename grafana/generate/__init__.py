"""Makes the dashboards and the alert rules: run `python -m generate` with this folder's parent as PYTHONPATH."""
