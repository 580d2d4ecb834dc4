"""The observability stack as native programs: collector, Jaeger, Prometheus and Alertmanager on loopback.

Only the standard library is used, so that `python -m stack` runs before anything is installed.
"""
