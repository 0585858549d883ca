"""Pillar: ``top`` says which SLS a target gets, ``compile`` merges them, ``mask`` hides values when they are shown."""

from pushsalt.pillar.compile import PillarResult, compile_pillar
from pushsalt.pillar.top import PillarTree

__all__ = ["PillarResult", "PillarTree", "compile_pillar"]
