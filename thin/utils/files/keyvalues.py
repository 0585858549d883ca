"""``key = value`` lines: changed, uncommented, added, pruned. Salt: ``file.keyvalue``."""


def edit(
    lines,
    key_values,
    separator="=",
    append=False,
    prepend=False,
    count=1,
    uncomment=None,
    key_ignore_case=False,
    value_ignore_case=False,
    prune=False,
):
    """(new lines, diff lines, lines changed, lines deleted).

    A key counts as set ``count`` times at most (a negative number: as often as it stands there); of lines commented out
    with one of the characters of ``uncomment`` so many are brought back, and what is too much goes.
    """

    def fold(text, ignore):
        return text.lower() if ignore else text

    def render(key, value):
        return "%s%s%s\n" % (key, separator, value)

    left = dict.fromkeys(key_values, count)
    kept, pruned, diff, changed = [], [], [], 0
    prefixes = tuple(fold(key, key_ignore_case) for key in key_values)
    for line in lines:
        bare = line.lstrip(uncomment)
        commented = len(bare) < len(line)
        key_here, mark, value_here = (bare if commented else line).partition(separator)
        if prune and not fold(bare, key_ignore_case).startswith(prefixes):
            pruned.append(line)
            continue
        for key, value in key_values.items():
            if not mark or fold(key_here, key_ignore_case) != fold(key, key_ignore_case) or not line:
                continue
            equal = fold(value_here.strip(), value_ignore_case) == fold(str(value).strip(), value_ignore_case)
            if commented:
                wrong = left[key] > 0  # a comment beyond those wanted may stay
            else:
                wrong = left[key] == 0 or not equal
            if wrong:
                diff.append("- " + line)
                line = ""
                if left[key] != 0:
                    line = render(key_here, value)
                    kind = "" if isinstance(value, str) else " (from %s type)\n" % type(value).__name__
                    diff.append("+ " + (line.rstrip() + kind if kind else line))
                changed += 1
            if left[key] > 0:
                left[key] -= 1
        kept.append(line)
    missing = [(key, render(key, value)) for key, value in key_values.items() if left[key] > 0]
    if missing and append:
        if kept and kept[-1] and not kept[-1].endswith("\n"):
            kept[-1] += "\n"
        kept += [line for _, line in missing]
        diff += ["- <EOF>\n"] + ["+ " + line for _, line in missing] + ["+ <EOF>\n"]
        changed += len(missing)
    elif missing and prepend:
        diff.insert(0, "  <SOF>\n")
        for _, line in missing:
            diff.insert(1, "+ " + line)
            kept.insert(0, line)
        changed += len(missing)
    for line in pruned:
        diff.insert(1, "- " + line)
    return kept, diff, changed, len(pruned)
