"""The variables of a managed file's template, in addition to those of every template. Both sides compute them."""

from thin.utils.files import owner

#: Variables that every template has. A state cannot replace them by an argument, only by ``context``.
RESERVED = ("salt", "grains", "pillar", "opts")


def template_names(name, source, user, group, mode, attrs, extra):
    """``{name: value}``: the properties of the file (``mode`` as four octal digits, None if it is ``keep`` or not
    given), and ``extra``, the arguments that the state function does not have. ``defaults`` and ``context`` override
    them.

    Raises ValueError for an argument with the name of a variable that each template has. Salt: file.get_managed.
    """
    taken = [word for word in RESERVED if word in extra]
    if taken:
        raise ValueError(
            "'%s' cannot be an argument of a state with a template: every template has one. Say it by 'context'"
            % taken[0]
        )
    kept = isinstance(mode, str) and mode.lower() == "keep"
    return dict(
        extra,
        name=name,
        source=source,
        user=user,
        group=group,
        mode=None if kept else owner.normalize_mode(mode),
        attrs=attrs,
    )
