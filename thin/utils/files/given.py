"""The content of a managed file that is given in the state, in pillar or in grains."""

from thin.exceptions import CommandExecutionError
from thin.utils.files import content
from thin.utils.files.states import texts

_NO_VALUE = object()


def looked_up(salt, contents=None, pillar_keys=None, grains_keys=None, delimiter=":"):
    """(value, name of its source for errors) of the argument that is given. Raises CommandExecutionError for a missing
    key.

    ``salt`` has the functions ``pillar.get`` and ``grains.get``. Of a list of keys, the values are joined as lines.
    """
    if pillar_keys is not None:
        return _values(salt["pillar.get"], "Pillar", pillar_keys, delimiter, unmask=True), _label("pillar", pillar_keys)
    if grains_keys is not None:
        return _values(salt["grains.get"], "Grain", grains_keys, delimiter), _label("grains", grains_keys)
    return contents, "'contents'"


def _label(word, keys):
    return "contents_%s %s" % (word, keys)


def _values(fetch, word, keys, delimiter, **options):
    values = []
    for key in keys if isinstance(keys, list) else [keys]:
        value = fetch(key, _NO_VALUE, delimiter=delimiter, **options)
        if value is _NO_VALUE:
            raise CommandExecutionError("%s %s does not exist" % (word, key))
        values.append(value)
    return "\n".join(values) if isinstance(keys, list) else values[0]


def data(value, render=None, newline=True, encoding=None, errors="strict"):
    """The content for a value: text, a list of texts, or bytes. ``render``: a function that renders a text to bytes.

    Raises CommandExecutionError with the state's comment.
    """
    from thin import link

    try:
        parts = texts(value, encoding)
    except UnicodeDecodeError:
        if render:
            raise CommandExecutionError(
                "Contents specified by contents/contents_pillar/contents_grains appears to be binary data, and as "
                "will not be able to be treated as a Jinja template."
            )
        return content.Data(value)
    if not parts:
        raise CommandExecutionError(
            "Contents specified by contents/contents_pillar/contents_grains is not a string or list of strings, and "
            "is not binary data. SLS is likely malformed."
        )
    text = "".join(line + "\n" for part in parts for line in part.splitlines())
    if not newline:
        text = text.rstrip("\n").rstrip("\r")
    if render:
        try:
            text = render(text)
        except link.LinkError as exc:
            raise CommandExecutionError(str(exc))
        if not encoding:
            return content.Data(text)
        text = text.decode("utf-8")
    try:
        return content.Data(text.encode(encoding or "utf-8", errors if encoding else "surrogateescape"))
    except (LookupError, UnicodeError) as exc:
        raise CommandExecutionError("Unable to manage file: %s" % exc)
