"""nats-servers on loopback: the same as those of ``pushsalt demo --workers``."""

from pushsalt.demo.natsserver import NatsServer, missing, program

__all__ = ["NatsServer", "missing", "program"]
