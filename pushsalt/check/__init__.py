"""``pushsalt check``: checks trees and formulas offline, as they would be rendered for several systems.

``subjects`` finds the trees below a path, ``rendering`` compiles them for each of ``systems``, ``chunks`` checks the
compiled chunks, ``sources`` the source texts, ``pillaruse`` the example pillar; ``rules`` has all codes, ``runner``
runs the checks, with processes and a cache, and ``formats`` writes the findings.
"""
