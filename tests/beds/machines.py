"""Booted Debian machines: the same as those of ``pushsalt demo --machines``."""

from pushsalt.demo.machines import (
    DEPLOY_PASSWORD,
    NETWORK,
    AptRepository,
    Machine,
    MachineBed,
    base_root,
    cache_dir,
    missing,
)

__all__ = ["DEPLOY_PASSWORD", "NETWORK", "AptRepository", "Machine", "MachineBed", "base_root", "cache_dir", "missing"]
