"""Where a C++ source can be broken, and how the breaking is chosen at run time (mutant schemata): the text in which each mutant
is a branch on its number, so that all of them need one build. A reader of the house's style, not of C++: what it takes for a
statement and isn't one doesn't compile, and tools/mutate leaves that out."""

import bisect
import re
from typing import NamedTuple

TOKEN = re.compile(
    r'(?P<skip>\s+|//[^\n]*|/\*.*?\*/|^[ \t]*#(?:[^\n]*\\\n)*[^\n]*)'
    r'|(?P<text>R"\w*\(.*?\)\w*"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\')'
    r'|(?P<number>\d[\w\'.]*)|(?P<word>[A-Za-z_]\w*)'
    r'|(?P<sign>->\*|->|::|<=>|<<=|>>=|<=|>=|==|!=|&&|\|\||\+\+|--|[-+*/%&|^]=|<<|\.\.\.|[^\s\w])', re.S | re.M)
OPEN = {"(": ")", "[": "]", "{": "}"}
TYPES = {"struct", "class", "enum", "union", "namespace", "extern"}
NO_STATEMENT = {"using", "static_assert", "static", "constexpr", "typedef", "template", "friend", "throw", "delete", "thread_local",
                "constinit", "co_return", "co_await", "goto", "public", "private", "protected", "const", "auto"} | TYPES
SWAPPED = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "&&": "||", "||": "&&", "+": "-", "-": "+",
           "true": "false", "false": "true"}
SPACED = set(SWAPPED) - {"true", "false"}  # as clang-format has it: one without spaces is no binary operator
CONSTANT = re.compile(r"^( *)(inline |static )?constexpr ([\w:]+) (\w+)\{([^{};]*\d[^{};]*)\};$", re.M)
NO_CHANGE = re.compile(r"^[\w.>()-]*\b(reserve|shrink_to_fit)\(")  # costs time or room alone


class Token(NamedTuple):
    kind: str
    text: str
    start: int
    end: int


class Mutant(NamedTuple):
    start: int  # of the text that is replaced
    end: int
    before: str  # put before it, or in its place; {n} is the number
    after: str
    replaces: bool
    what: str  # for the report
    line: int


class Source:
    def __init__(self, text):
        self.text = text
        self.tokens = [Token(m.lastgroup, m.group(), m.start(), m.end()) for m in TOKEN.finditer(text) if m.lastgroup != "skip"]
        self.match = {}
        stack = []
        for i, token in enumerate(self.tokens):
            if token.kind != "sign":
                continue
            if token.text in OPEN:
                stack.append(i)
            elif token.text in OPEN.values() and stack:
                begin = stack.pop()
                self.match[begin], self.match[i] = i, begin
        self.lines = [m.end() for m in re.finditer("\n", text)]
        self.mutants = []
        self.code = set()
        self.look_for_code(0, len(self.tokens))
        self.look_for_constants()

    def word(self, i):
        return self.tokens[i].text if 0 <= i < len(self.tokens) else ""

    def is_code(self, i):
        """Whether the `{` at i begins statements."""
        before = i - 1
        last = self.word(before)
        if last in {"else", "do", "try", "const", "noexcept", "override", "mutable"}:
            return True
        if last == "]":
            return self.tokens[self.match[before] - 1].kind != "word" and self.word(self.match[before] - 1) not in {")", "]", "&"}
        if last == "}":
            return before in self.match and self.match[before] not in self.code and self.tokens[self.match[before] - 1].kind == "word"
        begin = before
        while begin >= 0 and self.word(begin) not in {";", "{", "}"}:
            begin = self.match[begin] - 1 if self.word(begin) in {")", "]"} and begin in self.match else begin - 1
        words = [token.text for token in self.tokens[begin + 1:i]]
        if TYPES & set(words) and last != ")":
            return False
        if last == ")":
            return True
        return "->" in words and self.word(begin + 1 + words.index("->") - 1) in {")", "const", "noexcept", "mutable"}

    def look_for_code(self, i, end):
        while i < end:
            if self.word(i) == "{" and i in self.match and self.is_code(i):
                self.block(i)
                i = self.match[i]
            i += 1

    def block(self, opening):
        self.code.add(opening)
        i, end = opening + 1, self.match[opening]
        while i < end:
            word = self.word(i)
            if word == "{":
                self.block(i)
                i = self.match[i] + 1
            elif word in {"if", "while", "switch", "for", "catch"}:
                fixed = self.word(i + 1) == "constexpr"
                i += 2 if fixed else 1
                if word in {"if", "while"} and not fixed:
                    self.condition(i + 1, self.match[i])
                self.look_for_code(i, self.match[i])
                i = self.match[i] + 1
            elif word in {"case", "default"}:
                while self.word(i) != ":":
                    i += 1
                i += 1
            elif word in {";", "else", "do", "try"}:
                i += 1
            else:
                last = i
                while last < end and self.word(last) != ";":
                    last = self.match.get(last, last) + 1 if self.word(last) in OPEN else last + 1
                if last < end:
                    self.statement(i, last)
                self.look_for_code(i, last)
                i = last + 1

    def add(self, start, end, before, after, replaces, what):
        self.mutants.append(Mutant(start, end, before, after, replaces, what, bisect.bisect_right(self.lines, start) + 1))

    def variants(self, first, last):
        """Each text of the tokens from first to last, without `last`, that has one thing changed, and what that is."""
        start, end = self.tokens[first].start, self.tokens[last].start
        for i in range(first, last):
            token = self.tokens[i]
            changed = SWAPPED.get(token.text)
            if token.text == "+" and any(other.kind == "text" for other in self.tokens[first:last]):
                continue  # of texts
            if token.text in SPACED and self.text[token.start - 1:token.end + 1] not in (f" {token.text} ", f" {token.text}\n"):
                continue
            if token.kind == "number" and re.fullmatch(r"\d+", token.text):
                changed = str(int(token.text) + 1 if int(token.text) < 10 else int(token.text) * 2)
            elif token.kind == "number" and (parts := re.fullmatch(r"(\d+)(ns|us|ms|s|min|h)", token.text)):
                changed = f"{(int(parts[1]) + 1) * 2}{parts[2]}"
            if changed:
                yield self.text[start:token.start] + changed + self.text[token.end:end], f"{token.text} → {changed}"

    def has_code(self, first, last):
        return any(self.word(i) == "{" and self.is_code(i) for i in range(first, last))

    def condition(self, first, last):
        for i in range(first, last):  # behind an initialization
            if self.word(i) == ";":
                first = i + 1
        if any(self.word(i) == "=" for i in range(first, last)):
            return
        start, end = self.tokens[first].start, self.tokens[last].start
        self.add(start, end, "::mutants::on({n}) != static_cast<bool>(", ")", False, f"negated: {self.text[start:end]}")
        if self.has_code(first, last):
            return
        original = self.text[start:end]
        for changed, what in self.variants(first, last):
            self.add(start, end, f"::mutants::on({{n}}) ? static_cast<bool>({changed}) : static_cast<bool>({original})", "", True,
                     f"{what}: {original}")

    def statement(self, first, semicolon):
        word = self.word(first)
        start, end = self.tokens[first].start, self.tokens[semicolon].end
        original = self.text[start:end]
        if word in {"break", "continue"} or original == "return;":
            self.add(start, end, "{ if (!::mutants::on({n})) { ", " } }", False, f"left out: {original}")
            return
        plain = not self.has_code(first, semicolon)
        if word == "return":
            if plain:
                for changed, what in self.variants(first, semicolon):
                    self.add(start, end, f"{{ if (::mutants::on({{n}})) {{ {changed}; }} {original} }}", "", True, f"{what}: {original}")
            return
        if word == "auto" and plain:
            equals = next((i for i in range(first, semicolon) if self.word(i) == "="), None)
            if equals and "[" not in [self.word(i) for i in range(first, equals)]:
                from_here, to = self.tokens[equals + 1].start, self.tokens[semicolon].start
                value = self.text[from_here:to]
                for changed, what in self.variants(equals + 1, semicolon):
                    self.add(from_here, to, f"::mutants::on({{n}}) ? ({changed}) : ({value})", "", True, f"{what}: {original}")
            return
        if word in NO_STATEMENT or not self.is_expression(first) or NO_CHANGE.match(original):
            return
        self.add(start, end, "{ if (!::mutants::on({n})) { ", " } }", False, f"left out: {original}")
        if plain:
            for changed, what in self.variants(first, semicolon):
                self.add(start, end, f"{{ if (::mutants::on({{n}})) {{ {changed}; }} else {{ {original} }} }}", "", True,
                         f"{what}: {original}")

    def is_expression(self, i):
        if self.word(i) in {"++", "--", "*", "("}:
            return True
        if self.tokens[i].kind != "word":
            return False
        while self.word(i + 1) == "::" and self.tokens[i + 2].kind == "word":
            i += 2
        return self.word(i + 1) in {"(", ".", "->", "[", "=", "+=", "-=", "|=", "&=", "++", "--"}

    def look_for_constants(self):
        for found in CONSTANT.finditer(self.text):
            indent, scope, kind, name, value = found.groups()
            # Not a constant for the compiler any more, so what needs one doesn't compile and is left out. With on() it would be
            # computed beforehand all the same.
            scope = {None: "", "inline ": "inline ", "static ": "inline static "}[scope]
            inner = Source.__new__(Source)
            inner.text = value + ";"
            inner.tokens = [Token(m.lastgroup, m.group(), m.start(), m.end()) for m in TOKEN.finditer(inner.text) if m.lastgroup != "skip"]
            for changed, what in inner.variants(0, len(inner.tokens) - 1):
                self.add(found.start(), found.end(),
                         f"{indent}{scope}{kind} const {name}{{::mutants::on_at_run_time({{n}}) ? {kind}{{{changed}}} : {kind}{{{value}}}}};", "", True,
                         f"{what}: {found.group().strip()}")


def mutants_of(text):
    return Source(text).mutants


def fits(mutant, others):
    """Whether it can be there beside them: those that only wrap text may be inside one another."""
    return all(mutant.end <= other.start or other.end <= mutant.start or
               (not mutant.replaces and not other.replaces and (mutant.start, mutant.end) != (other.start, other.end))
               for other in others)


def instrumented(text, numbered):
    """The text with these mutants, {number: mutant}, each a branch."""
    edits = []
    for number, mutant in numbered.items():
        before = mutant.before.replace("{n}", str(number))
        width = mutant.end - mutant.start
        if mutant.replaces:  # in one line, and with the lines that it takes the place of, so that the others keep their numbers
            before = re.sub(r"//[^\n]*", "", before).replace("\n", " ")
            edits.append((mutant.start, 1, -width, before + "\n" * text.count("\n", mutant.start, mutant.end), mutant.end))
        else:
            edits.append((mutant.start, 1, -width, before, mutant.start))
            edits.append((mutant.end, 0, width, mutant.after, mutant.end))
    result, position = [], 0
    for start, _, _, put, end in sorted(edits):
        result += [text[position:start], put]
        position = end
    changed = "".join(result) + text[position:]
    once = "#pragma once\n"
    begin = changed.find(once) + len(once) if once in changed else 0
    line = changed.count("\n", 0, begin) + 1
    return f'{changed[:begin]}#include "mutants.hpp"\n#line {line}\n{changed[begin:]}'
