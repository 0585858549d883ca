"""Pillar: ``top`` computes the SLS of a target, ``compile`` merges them, ``mask`` hides values in output."""

from pushsalt.pillar.compile import PillarResult, compile_pillar
from pushsalt.pillar.top import PillarTree

__all__ = ["PillarResult", "PillarTree", "compile_pillar"]
