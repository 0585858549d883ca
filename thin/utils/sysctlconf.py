"""Kernel parameters as text: what sysctl prints on FreeBSD and macOS, and their configuration files."""


def pairs(text, sign, roots):
    """``{name: value}`` of lines that begin with one of the roots; other lines go on with the value before."""
    found, name = {}, None
    for line in text.splitlines():
        if line.startswith(roots):
            name, _, value = line.partition(sign)
            found[name] = value
        elif name:
            found[name] += "\n" + line
    return found


def persisted(lines, name, value, written):
    """The lines with the parameter's value changed or added; None when it has it. What follows a value stays."""
    found, done = [], False
    for line in lines:
        key, sign, rest = line.partition("=")
        if not sign or key.strip() != name:
            found.append(line if line.endswith("\n") else line + "\n")
            continue
        rest = rest.strip()
        quote = rest[:1] if rest[:1] in ('"', "'") else None
        end = rest.find(quote, 1) if quote else len((rest.split() or [""])[0])
        old, tail = (rest[1:end], rest[end + 1:]) if quote else (rest[:end], rest[end:])
        if old == value:
            return None
        found.append("%s=%s%s\n" % (name, written, tail))
        done = True
    return found if done else found + ["%s=%s\n" % (name, written)]
