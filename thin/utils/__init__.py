"""Code that modules share, in packages by what it accesses; ``tests/test_layers.py`` has the rule.

The modules right here, ``formats``, ``outputs`` and ``packages`` are pure, for both sides of the channel: no input, no
output, no dunders. ``files``, ``system``, ``programs``, ``archives`` and ``pki`` read and change the machine; they
import the pure ones and those before them. ``args``, ``data``, ``dictupdate`` and ``state`` are Salt's names, which
users' modules reach as ``__utils__["data.filter_by"]``.
"""
