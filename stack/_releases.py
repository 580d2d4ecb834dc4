"""Which release of each program the stack runs; compose.yaml names the images of the same releases."""

from __future__ import annotations

from typing import Final

COLLECTOR: Final = "0.161.0"
"""Release of every collector module in `collector/go.mod` that has not reached 1.0."""
JAEGER_MODULE: Final = "1.76.0"
"""Release of the Go module in `jaeger/go.mod`."""
JAEGER: Final = "2.13.0"
"""What Jaeger calls the same release of its program and image."""
DEBIAN_SUITE: Final = "trixie"
"""The Debian release whose packages are unpacked, whatever this machine runs: their programs need no library of it."""
PROMETHEUS: Final = "2.53.3"
ALERTMANAGER: Final = "0.28.1"
RABBITMQ: Final = "3.10"
REDIS: Final = "7"
"""The oldest releases that the fleet is tested with; the machine's own Debian says which ones it gets."""
GRAFANA: Final = "11.6.4"
"""Only compose.yaml runs Grafana."""
