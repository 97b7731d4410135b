"""A plugin of reprise, as small as it can be: one of each thing that a package can add."""

from reprise import Registry
from reprise_toy import gain, plane, round_robin, suite


def register(registry: Registry) -> None:
    """What this package adds; reprise calls this once."""
    registry.method("round-robin", round_robin.method, "reprise-toy")
    registry.tasks("toy", plane.task, plane.NAMES)
    registry.format(".gain", gain.load)
    registry.suite("toy", suite.cells)
