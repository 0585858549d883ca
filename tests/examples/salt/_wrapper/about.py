"""What a target is, in a sentence; answered on the controller."""

__reads__ = ("it",)


def it():
    """Its id, and its role in the pillar."""
    return f"{__opts__['id']} is {__pillar__.get('role', 'nothing yet')}"
