"""Code that modules share, in packages by what it accesses; ``tests/source/test_layers.py`` has the rule.

The modules in this folder, ``formats``, ``outputs`` and ``packages`` are pure, for both sides of the channel: no input,
no output, no dunders. ``files``, ``system``, ``programs``, ``archives`` and ``pki`` read and change the machine; they
import the pure ones and the packages before them. ``args``, ``data``, ``dictupdate`` and ``state`` have Salt's names;
users' modules call them as ``__utils__["data.filter_by"]``.
"""
