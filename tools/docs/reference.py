"""Makes a page of Markdown for each public header from Doxygen's XML: reference.py XML HEADERS PAGES. Fails if a public name has no
description. A name without one of its own, in the line after another, shares that one's: overloads stand together.
"""
import pathlib
import re
import sys
import xml.etree.ElementTree

KINDS = {"class": "class", "struct": "struct"}
NAMESPACES = {"holdfast", "holdfast::async", "holdfast::memory"}  # whose free names are public


def escaped(text):
    return re.sub(r"([\\`*_\[\]])", r"\\\1", text).replace("<", "&lt;").replace(">", "&gt;")


def inline(node):
    """The text of a paragraph, as Markdown."""
    out = escaped(node.text or "")
    for child in node:
        if child.tag == "computeroutput":
            out += "`" + "".join(child.itertext()) + "`"
        elif child.tag in ("emphasis", "bold"):
            out += "**" + inline(child).strip() + "**"
        elif child.tag == "ulink":
            out += f"[{inline(child)}]({child.get('url')})"
        elif child.tag in ("ndash", "mdash"):
            out += "–"
        elif child.tag not in ("itemizedlist", "orderedlist", "verbatim", "programlisting", "preformatted"):
            out += inline(child)
        out += escaped(child.tail or "")
    return out


def blocks(node, indent=""):
    """The paragraphs, lists and code of a description."""
    out = ""
    for child in node:
        if child.tag == "para":
            if inline(child).strip():
                out += indent + re.sub(r"\s*\n\s*", " ", inline(child).strip()) + "\n\n"
            out += blocks(child, indent)
        elif child.tag in ("itemizedlist", "orderedlist"):
            mark = "-   " if child.tag == "itemizedlist" else "1.  "
            for item in child:
                out += indent + mark + blocks(item, indent + "    ").lstrip()
        elif child.tag in ("verbatim", "programlisting", "preformatted"):
            lines = [line.rstrip() for line in "".join(child.itertext()).strip("\n").split("\n")]
            margin = min((len(line) - len(line.lstrip()) for line in lines if line), default=0)
            out += "".join(f"{indent}    {line[margin:]}\n" for line in lines) + "\n"
        elif child.tag in ("simplesect", "parblock"):
            out += blocks(child, indent)
    return out


def description(node):
    return "".join(blocks(node.find(part)) for part in ("briefdescription", "detaileddescription") if node.find(part) is not None)


def text_of(node, part):
    found = node.find(part)
    return "" if found is None else "".join(found.itertext()).strip()


def declaration(member):
    """What the reader writes or calls, without the scope."""
    text = text_of(member, "definition")
    for scope in (text_of(member, "qualifiedname"), "holdfast::"):
        text = text.replace(scope, text_of(member, "name") if scope != "holdfast::" else "")
    text += text_of(member, "argsstring")
    if member.get("kind") == "variable":
        text += " " + text_of(member, "initializer")
    parameters = [
        " ".join(filter(None, (text_of(one, "type"), text_of(one, "declname")))) for one in member.findall("templateparamlist/param")]
    return (f"template <{', '.join(parameters)}>\n" if parameters else "") + re.sub(r"\s+", " ", text).strip() + ";"


class header:
    def __init__(self, path):
        self.name = path.name
        self.lines = path.read_text().split("\n")
        self.parts = []  # (line, class or none, its members)

    def together(self, first, second):
        """Whether nothing but declarations stands between two lines."""
        between = self.lines[first:second]
        return all(line.strip() and not line.strip().startswith("//") for line in between[:-1])

    def title(self):
        """What its first lines say."""
        text = []
        for line in self.lines:
            if not line.startswith("///"):
                break
            text.append(line[3:].strip())
        return " ".join(text).split("  ")[0]

    def manual(self):
        """What stands below that, up to the first line of code, as Markdown."""
        head = [line[4:] for line in self.lines[:next(i for i, line in enumerate(self.lines) if not line.startswith("///"))]]
        below = head[head.index("") + 1:] if "" in head else []
        out, before = "", ""
        for line in below:
            if line.startswith("- ") and before and not before.startswith(("- ", "  ")):
                out += "\n"  # mkdocs wants an empty line before a list
            out += (line if line.startswith("    ") else line.replace("<", "&lt;").replace(">", "&gt;")) + "\n"
            before = line
        return out + "\n" if out else ""


def members_of(compound, name):
    """The public members that this header declares, in its order; those that say only what can't be done are left out."""
    found = []
    for section in compound.findall("sectiondef"):
        for member in section.findall("memberdef"):
            place = member.find("location")
            hidden = member.get("prot") not in ("public", "protected") or member.get("kind") == "friend"
            missing = "=delete" in text_of(member, "argsstring").replace(" ", "")
            if not hidden and not missing and pathlib.Path(place.get("file")).name == name:
                found.append((int(place.get("line")), member))
    return sorted(found, key=lambda one: one[0])


def values(member):
    """The values of an enumeration, or nothing."""
    out, silent = "", []
    for value in member.findall("enumvalue"):
        says = re.sub(r"\s+", " ", description(value)).strip()
        if not says:
            silent.append(text_of(value, "name"))
        out += f"| `{text_of(value, 'name')}` | {says} |\n"
    return (f"| value | |\n|---|---|\n{out}\n" if out else ""), silent


def page_of(one, undocumented):
    out = f"# {one.name}\n\n    #include <holdfast/{one.name}>\n\n{escaped(one.title())}\n\n{one.manual()}"
    for _, compound, members in sorted(one.parts, key=lambda part: part[0]):
        scope = ""
        if compound is not None:
            scope = text_of(compound, "compoundname").removeprefix("holdfast::")
            says = description(compound)
            if not says:
                undocumented.append(f"{one.name}: {scope}")
            base = [text_of(compound, "basecompoundref")] if compound.find("basecompoundref") is not None else []
            out += f"## {compound.get('kind')} {scope}\n\n" + (f"Derived from `{base[0].removeprefix('holdfast::')}`.\n\n" if base else "") + says
        groups = []  # members that share a description
        for line, member in members:
            says = description(member)
            if not says and groups and one.together(groups[-1]["last"], line):
                groups[-1]["members"].append(member)
                groups[-1]["last"] = line
            else:
                groups.append({"members": [member], "last": line, "says": says})
        for group in groups:
            names = list(dict.fromkeys(text_of(member, "name") for member in group["members"]))
            if not group["says"]:
                undocumented.append(f"{one.name}: {scope + '::' if scope else ''}{', '.join(names)}")
            out += f"{'###' if scope else '##'} {', '.join(map(escaped, names))}\n\n```cpp\n"
            out += "\n".join(declaration(m) if m.get("kind") != "enum" else f"enum class {text_of(m, 'name')};" for m in group["members"])
            out += "\n```\n\n" + group["says"]
            for member in group["members"]:
                table, silent = values(member)
                out += table
                undocumented.extend(f"{one.name}: {names[0]}::{value}" for value in silent)
    return out


def main(xml, pages, *folders):
    headers = (path for folder in folders for path in pathlib.Path(folder).glob("*.hpp"))
    read = {path.name: header(path) for path in sorted(headers, key=lambda path: path.name)}
    for path in sorted(pathlib.Path(xml).glob("*.xml")):
        compound = xml_root(path).find("compounddef")
        if compound is None:
            continue
        if compound.get("kind") in KINDS and compound.get("prot", "public") == "public":
            place = compound.find("location")
            name = pathlib.Path(place.get("file")).name
            read[name].parts.append((int(place.get("line")), compound, members_of(compound, name)))
        elif compound.get("kind") == "namespace" and text_of(compound, "compoundname") in NAMESPACES:
            for name, one in read.items():
                one.parts.extend((line, None, [(line, member)]) for line, member in members_of(compound, name))
    undocumented = []
    folder = pathlib.Path(pages)
    folder.mkdir(parents=True, exist_ok=True)
    index = "# Reference\n\nOne page for each public header, made from the header, which is the manual.\n\n| header | |\n|---|---|\n"
    for name, one in read.items():
        one.parts = joined(one)
        (folder / name.replace(".hpp", ".md")).write_text(page_of(one, undocumented))
        index += f"| [{escaped(name)}]({name.replace('.hpp', '.md')}) | {escaped(one.title())} |\n"
    (folder / "index.md").write_text(index)
    if undocumented:
        print("These public names have no description:", *undocumented, sep="\n  ")
    else:
        print(f"all public names of {len(read)} headers are documented")
    return 1 if undocumented else 0


def joined(one):
    """Free names that stand together are one part, so that they can share a description."""
    out = []
    for part in sorted(one.parts, key=lambda part: part[0]):
        if part[1] is None and out and out[-1][1] is None:
            out[-1][2].extend(part[2])
        else:
            out.append((part[0], part[1], list(part[2])))
    return out


def xml_root(path):
    return xml.etree.ElementTree.parse(path).getroot()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
