"""Compares the version of Salt that pushsalt imitates with code names of releases. Salt: modules/salt_version.py"""

from thin.exceptions import CommandExecutionError
from thin.log import getLogger

__controller__ = True
__reads__ = ("get_release_number", "equal", "greater_than", "less_than")

log = getLogger(__name__)

#: Releases are named after the chemical elements, in order; the numbers of those up to fluorine are year and month.
_EARLY = {
    "hydrogen": "2014.1",
    "helium": "2014.7",
    "lithium": "2015.5",
    "beryllium": "2015.8",
    "boron": "2016.3",
    "carbon": "2016.11",
    "nitrogen": "2017.7",
    "oxygen": "2018.3",
    "fluorine": "2019.2",
}
_FROM_3000 = """
neon sodium magnesium aluminium silicon phosphorus sulfur chlorine argon potassium calcium scandium titanium vanadium
chromium manganese iron cobalt nickel copper zinc gallium germanium arsenic selenium bromine krypton rubidium strontium
yttrium zirconium niobium molybdenum technetium ruthenium rhodium palladium silver cadmium indium tin antimony tellurium
iodine xenon cesium barium lanthanum cerium praseodymium neodymium promethium samarium europium gadolinium terbium
dysprosium holmium erbium thulium ytterbium lutetium hafnium tantalum tungsten rhenium osmium iridium platinum gold
mercury thallium lead bismuth polonium astatine radon francium radium actinium thorium protactinium uranium neptunium
plutonium americium curium berkelium californium einsteinium fermium mendelevium nobelium lawrencium rutherfordium
dubnium seaborgium bohrium hassium meitnerium darmstadtium roentgenium copernicium nihonium flerovium moscovium
livermorium tennessine oganesson
""".split()


def get_release_number(name):
    """
    Return the number of a release, as text; None for a name that no release has

    name
        The code name, such as neon

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' salt_version.get_release_number neon
    """
    if not isinstance(name, str):
        raise CommandExecutionError("'name' argument must be a string")
    word = name.lower()
    number = str(3000 + _FROM_3000.index(word)) if word in _FROM_3000 else _EARLY.get(word)
    if number is None:
        log.info("Version %s not found.", word)
    return number


def equal(name):
    """
    Whether the version is of the release with this code name

    name
        The code name

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' salt_version.equal argon
    """
    return _differ(name) == 0


def greater_than(name):
    """
    Whether the version is of a later release than the one with this code name

    name
        The code name

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' salt_version.greater_than neon
    """
    return _differ(name) == 1


def less_than(name):
    """
    Whether the version is of an earlier release than the one with this code name

    name
        The code name

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' salt_version.less_than potassium
    """
    return _differ(name) == -1


def _differ(name):
    """-1, 0 or 1, as this version is before, equal to or after the release; None for an unknown name."""
    number = get_release_number(name)
    if number is None:
        return None
    own_version = str(__grains__.get("saltversion", "3008.3")).rpartition(".")[0]
    ours, theirs = [[int(part) for part in text.split(".")] for text in (own_version, number)]
    return (ours > theirs) - (ours < theirs)
