"""Where a Lua script can be broken. A mutant is the changed text of one file of scripts/; the scripts that include it are put
together here as cmake/EmbedLua.cmake does it."""

import hashlib
import re
from typing import NamedTuple

CODE = re.compile(r"--[^\n]*|'(?:\\.|[^'\\])*'|\"(?:\\.|[^\"\\])*\"")
DECLARATION = re.compile(r"\b(KEYS|ARGV)\b")
CONDITION = re.compile(r"\b(if|elseif|while)\b (.+?) (then|do)\b")
OPERATOR = re.compile(r" (<=|>=|<|>|==|~=|and|or|\+|-) ")
SWAPPED = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "~=", "~=": "==", "and": "or", "or": "and", "+": "-", "-": "+"}
NUMBER = re.compile(r"(?<![\w.%])\d+(?![\w.])")
CALL = re.compile(r"(?:^|(?<=then )|(?<=else ))\s*([a-z_]+(?:\.call|\.pcall)?\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\))(?=$| end)")


class Mutant(NamedTuple):
    line: int
    changed: str  # the whole line
    what: str


def mutants_of(text):
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        masked = CODE.sub(lambda m: "\0" * len(m.group()), line)  # of the same length, without texts and comments
        if DECLARATION.search(masked) or not masked.strip("\0 "):
            continue

        def add(start, end, put, what, line=line, number=number):
            found.append(Mutant(number, line[:start] + put + line[end:], f"{what}: {line.strip()}"))

        for m in CONDITION.finditer(masked):
            add(*m.span(2), f"not ({line[m.start(2):m.end(2)]})", "negated")
        for m in OPERATOR.finditer(masked):
            add(*m.span(1), SWAPPED[m[1]], f"{m[1]} → {SWAPPED[m[1]]}")
        for m in NUMBER.finditer(masked):
            add(*m.span(), str(int(m[0]) + 1), f"{m[0]} → {int(m[0]) + 1}")
        for m in CALL.finditer(masked):
            if not m[1].startswith("function"):
                add(*m.span(1), "", "left out")
    return found


def changed_text(text, mutant):
    lines = text.splitlines(keepends=True)
    lines[mutant.line - 1] = mutant.changed + "\n"
    return "".join(lines)


def scripts_of(files):
    """{family.verb: text}, of {path below scripts/: text}."""
    def fragment(match):
        text = files[f"include/{match[1]}.lua"]
        return re.sub(r"^-- @(needs|leaves) .*\n", "", text, flags=re.M)
    return {path[:-4].replace("/", "."): re.sub(r"^-- @include (\w+)\n", fragment, text, flags=re.M)
            for path, text in files.items() if not path.startswith("include/")}


def changes(files, path, mutant):
    """What the mutants' header reads: the scripts that differ, each behind a line `<name> <SHA-1> <size>`."""
    before = scripts_of(files)
    after = scripts_of(files | {path: changed_text(files[path], mutant)})
    texts = {name: text.encode() for name, text in after.items() if text != before[name]}
    return b"".join(f"{name} {hashlib.sha1(text).hexdigest()} {len(text)}\n".encode() + text for name, text in texts.items())


def names_in(changed):
    """Of the scripts in what changes() returned."""
    names, rest = set(), changed
    while rest:
        head, _, rest = rest.partition(b"\n")
        name, _, size = head.split(b" ")
        names.add(name.decode())
        rest = rest[int(size):]
    return names
