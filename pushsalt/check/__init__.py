"""``pushsalt check``: trees and formulas looked at offline, as machines of several systems would render them.

``subjects`` finds what there is to check below a path, ``rendering`` compiles it for each of ``systems``, ``chunks``
looks at what would run, ``sources`` at what is written, ``pillaruse`` at the example pillar; ``rules`` has every code,
``runner`` brings it all together, with processes and a cache, and ``formats`` writes what was found.
"""
