"""The variables of a managed file's template, in addition to those of every template. Both sides compute them."""

from thin.utils.files import owner

#: What every template has: a state cannot give a template another one but by ``context``.
RESERVED = ("salt", "grains", "pillar", "opts")


def template_names(name, source, user, group, mode, attrs, extra):
    """``{name: value}``: the file's own (``mode`` as four octal digits, None when kept or not given), and ``extra``,
    the arguments that the state does not know. ``defaults`` and ``context`` of the state win over them.

    Raises ValueError for an argument that is called as something that each template has. Salt: file.get_managed.
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
