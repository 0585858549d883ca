"""Salt: ``salt/_compat.py``."""

import ipaddress
import xml.etree.ElementTree as ElementTree

__all__ = ["ElementTree", "ipaddress"]
