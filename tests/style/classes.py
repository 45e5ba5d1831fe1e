"""No class outgrows its reader: counted from the compiler's own syntax tree (libclang).

    classes.py FOLDER          prints what breaks the rule; ends with 1 when anything does
    classes.py FOLDER --list   all classes with private state, the largest first
    classes.py --self-test     counts a sample, and sees each fault

FOLDER is a build tree with a compile_commands.json, configured without a precompiled header.
`./dev lint` runs it. It needs Debian's python3-clang, so the system's own Python.

What counts is each class or struct of src/, lab/ and include/ with a private or protected data
member; without one it is an aggregate or an interface, and exempt. It has at most 30 functions
and 15 data members:

- functions: the member functions that it declares, with its constructors, its destructor and its
  operators, each overload and each template once, but not what is defaulted or deleted; its
  friend functions; the free functions of its box that take one of its private nested types.
- data members: its own non-static ones, not those of its bases and nested classes.

A nested class, a friend class and a base are classes of their own. A class inside a function is not
seen; the length of a function limits it.

The larger ones of today are in large_classes.txt with their counts. The list only shrinks: who
makes such a class smaller lowers its counts, and who renames it takes the entry along.
"""

import hashlib
import json
import multiprocessing
import os
import re
import shlex
import sys
import tempfile
from pathlib import Path

import class_samples
from boxes import box_of

ROOT = Path(__file__).resolve().parents[2]
EXCEPTIONS = Path(__file__).with_name("large_classes.txt")
MOST_FUNCTIONS, MOST_MEMBERS = 30, 15
FOLDERS = ("src", "lab", "include")


class Failed(Exception):
    """The sources cannot be read as they are."""


# ------------------------------------------------------------------------------- the verdict
def read_exceptions(text):
    """name -> (functions, members)"""
    rows = (line.split() for line in text.splitlines() if line and not line.startswith("#"))
    return {name: (int(functions), int(members)) for name, functions, members in rows}


def problems(found, exceptions):
    """What is wrong with the counts: name -> (functions, members, place)."""
    for name, (functions, members, place) in sorted(found.items()):
        now = f"{place}: {name} has {functions} functions and {members} data members"
        if name in exceptions:
            most = exceptions[name]
            if functions > most[0] or members > most[1]:
                yield f"{now}; it had {most[0]} and {most[1]}, and may not grow"
            elif functions <= MOST_FUNCTIONS and members <= MOST_MEMBERS:
                yield f"{now}, so it is no exception any more: take it out of {EXCEPTIONS.name}"
            elif (functions, members) != most:
                yield f"{now} now: lower its entry in {EXCEPTIONS.name} ({most[0]} {most[1]})"
        elif functions > MOST_FUNCTIONS or members > MOST_MEMBERS:
            yield f"{now}; at most {MOST_FUNCTIONS} and {MOST_MEMBERS}"
    for name in sorted(exceptions.keys() - found.keys()):
        yield f"{EXCEPTIONS.name}: there is no class {name} any more: take it out, or rename it"
    if list(exceptions) != sorted(exceptions):
        yield f"{EXCEPTIONS.name} is not sorted"


# ---------------------------------------------------------------------------- the syntax tree
class Reader:
    """Counts the classes of one translation unit."""

    def __init__(self, root, cindex):
        self.root, self.kind, self.cindex = str(root) + "/", cindex.CursorKind, cindex
        kinds = self.kind
        self.classes = {kinds.CLASS_DECL, kinds.STRUCT_DECL, kinds.CLASS_TEMPLATE,
                        kinds.CLASS_TEMPLATE_PARTIAL_SPECIALIZATION}
        self.free = {kinds.FUNCTION_DECL, kinds.FUNCTION_TEMPLATE}
        self.members = {kinds.CXX_METHOD, kinds.CONSTRUCTOR, kinds.DESTRUCTOR,
                        kinds.CONVERSION_FUNCTION, kinds.FUNCTION_TEMPLATE}
        self.scopes = self.classes | {kinds.NAMESPACE, kinds.LINKAGE_SPEC}
        self.hidden = {cindex.AccessSpecifier.PRIVATE, cindex.AccessSpecifier.PROTECTED}
        self.found = {}  # a class' USR -> its record
        self.taken = {}  # a class' USR -> USRs of the free functions that take its inside

    def file_of(self, cursor):
        """The file of the house that the cursor stands in; None for everybody else's."""
        file = cursor.location.file
        name = os.path.normpath(file.name) if file else ""
        name = name.removeprefix(self.root)
        return name if name.startswith(tuple(f"{folder}/" for folder in FOLDERS)) else None

    def name_of(self, cursor):
        words = []
        while cursor and cursor.kind != self.kind.TRANSLATION_UNIT:
            # Only a specialisation needs its arguments to be told from the others.
            template = cursor.kind in (self.kind.CLASS_TEMPLATE, self.kind.NAMESPACE)
            word = cursor.spelling if template else cursor.displayname
            if word and not self.cindex.conf.lib.clang_Cursor_isInlineNamespace(cursor):
                words.append(word.replace(" ", ""))
            cursor = cursor.semantic_parent
        return "::".join(reversed(words)).removeprefix("herdlock::")

    def read(self, cursor):
        for child in cursor.get_children():
            if child.kind not in self.scopes and child.kind not in self.free:
                continue
            file = self.file_of(child)
            if file is None:
                continue
            if child.kind in self.free:
                self.read_free(child, file)
                continue
            if child.kind in self.classes and child.is_definition():
                self.read_class(child, file)
            self.read(child)

    def read_class(self, cursor, file):
        functions, members, hidden = set(), 0, False
        for child in cursor.get_children():
            if child.kind == self.kind.FIELD_DECL:
                members += 1
                hidden = hidden or child.access_specifier in self.hidden
            elif child.kind in self.members and not self.is_given(child):
                functions.add(child.get_usr())
            elif child.kind == self.kind.FRIEND_DECL:
                functions |= {friend.get_usr() for friend in child.get_children()
                              if friend.kind in self.free and not self.is_given_friend(friend)}
        self.found[cursor.get_usr()] = {
            "name": self.name_of(cursor), "place": f"{file}:{cursor.location.line}",
            "hidden": hidden, "members": members, "functions": sorted(functions)}

    def is_given(self, cursor):
        """Defaulted or deleted."""
        deleted = cursor.availability == self.cindex.AvailabilityKind.NOT_AVAILABLE
        return deleted or cursor.is_default_method()

    @staticmethod
    def is_given_friend(cursor):
        last = [token.spelling for token in cursor.get_tokens()][-2:]
        return last in (["=", "default"], ["=", "delete"])

    def read_free(self, cursor, file):
        for parameter in cursor.get_children():
            if parameter.kind == self.kind.PARM_DECL:
                for owner in self.owners(parameter.type):
                    place = self.file_of(owner)
                    if place and box_of(place) == box_of(file):
                        self.taken.setdefault(owner.get_usr(), set()).add(cursor.get_usr())

    def owners(self, type_):
        """The classes whose private nested types the type names."""
        target = type_.get_pointee()
        while target.kind != self.cindex.TypeKind.INVALID:
            type_, target = target, target.get_pointee()
        for index in range(max(type_.get_num_template_arguments(), 0)):
            yield from self.owners(type_.get_template_argument_type(index))
        cursor = type_.get_declaration()
        while cursor and cursor.kind in self.classes | {self.kind.ENUM_DECL}:
            if cursor.access_specifier in self.hidden:
                yield cursor.semantic_parent
            cursor = cursor.semantic_parent


def merged(readings):
    """name -> (functions, members, place), of the classes with private state."""
    records, taken = {}, {}
    for reading in readings:
        for usr, record in reading["found"].items():
            records.setdefault((usr, record["place"].split(":")[0]), record)
        for usr, functions in reading["taken"].items():
            taken.setdefault(usr, set()).update(functions)
    found = {}
    for (usr, _), record in records.items():
        if record["hidden"]:
            functions = len(taken.get(usr, set()) | set(record["functions"]))
            row = (functions, record["members"], record["place"])
            found[record["name"]] = max(found.get(record["name"], row), row)
    return found


# ------------------------------------------------------------------------------- the sources
def flags_of(commands):
    """What the sources of the house are compiled with, all together."""
    flags = []
    for command in commands:
        words = iter(shlex.split(command["command"]))
        for word in words:
            pair = [word, next(words)] if word == "-isystem" else [word]
            if re.match(r"-(I|D|isystem|std=)", word) and pair not in flags:
                flags.append(pair)
    # A macro that is defined in two ways is each source's own affair.
    names = [pair[0].split("=")[0] for pair in flags]
    return [word for pair, name in zip(flags, names)
            for word in pair if not name.startswith("-D") or names.count(name) == 1] + ["-w"]


def texts_of(suffix):
    found = (path for folder in FOLDERS for path in (ROOT / folder).rglob(f"*{suffix}"))
    return {path.relative_to(ROOT).as_posix(): path.read_text() for path in sorted(found)}


def includes_of_all(headers, bodies):
    """What the sources have in common: what the house includes of others, and its public headers.
    The body of a library that has one (src.hpp) stays with the source that asks for it."""
    public = [name.removeprefix("include/") for name in headers if name.startswith("include/")]
    ours = {*public, *(name.removeprefix("src/") for name in headers)}
    foreign = {name for text in [*headers.values(), *bodies.values()]
               for name in re.findall(r"^\s*#\s*include\s*<([^>]+)>", text, re.MULTILINE)
               if name not in ours and not name.endswith("/src.hpp")}
    return "".join(f"#if __has_include(<{name}>)\n#include <{name}>\n#endif\n"
                   for name in [*sorted(foreign), *public])


def parse(path, arguments, extra=0):
    from clang import cindex  # here, so that the verdict can be tested without it
    options = cindex.TranslationUnit.PARSE_SKIP_FUNCTION_BODIES | extra
    unit = cindex.Index.create(excludeDecls=True).parse(str(path), arguments, options=options)
    errors = [str(one) for one in unit.diagnostics if one.severity >= cindex.Diagnostic.Error]
    if errors:
        raise Failed("\n".join(errors[:5]))
    return unit


def reading_of(unit, root):
    from clang import cindex
    reader = Reader(root, cindex)
    reader.read(unit.cursor)
    read = {os.path.normpath(one.include.name).removeprefix(f"{root}/")
            for one in unit.get_includes()}
    taken = {usr: sorted(functions) for usr, functions in reader.taken.items()}
    return {"found": reader.found, "taken": taken, "headers": sorted(read)}


def read_source(task):
    path, root, arguments, stamp = task
    stamp.write_text(json.dumps(reading_of(parse(path, arguments), root)))


def readings(build):
    """What each source declares: read again when it, a header or the flags have changed."""
    headers, bodies = texts_of(".hpp"), texts_of(".cpp")
    commands = json.loads((build / "compile_commands.json").read_text())
    ours = tuple(f"{root}/{folder}/" for root in (ROOT, build.resolve())  # alone, or several
                 for folder in ("src", "lab"))                            # joined into one
    flags = flags_of(one for one in commands if one["file"].startswith(ours))
    folder = build / "classes"
    folder.mkdir(exist_ok=True)
    common, compiled = folder / "common.hpp", folder / "common.pch"
    base = hashlib.sha256(repr((headers, flags, Path(__file__).read_text())).encode())

    def stamp_of(name):
        key = base.copy()
        key.update(repr((name, bodies.get(name))).encode())
        return folder / f"{key.hexdigest()[:40]}.json"

    def read(names):
        arguments = ["-x", "c++", *flags, "-include-pch", str(compiled)]
        pool.map(read_source, [(ROOT / name, ROOT, arguments, stamp_of(name)) for name in names
                               if not stamp_of(name).exists()], chunksize=1)
        return {stamp_of(name): json.loads(stamp_of(name).read_text()) for name in names}

    if not all(stamp_of(name).exists() for name in ["", *bodies]):
        common.write_text(includes_of_all(headers, bodies))
        unit = parse(common, ["-x", "c++-header", *flags], extra=2)  # PARSE_INCOMPLETE
        unit.save(str(compiled))
        stamp_of("").write_text(json.dumps(reading_of(unit, ROOT)))
    with multiprocessing.Pool() as pool:
        result = read(["", *bodies])
        seen = {header for reading in result.values() for header in reading["headers"]}
        result |= read(sorted(headers.keys() - seen))
    for old in set(folder.glob("*.json")) - result.keys():
        old.unlink()
    return result.values()


# ---------------------------------------------------------------------------------- commands
def verdict_faults():
    """The verdict, which needs no compiler, against the samples."""
    for rows, exceptions, in_order in class_samples.VERDICTS:
        found = {name: (*row, "src/a/a.hpp:1") for name, row in rows.items()}
        if in_order == any(problems(found, read_exceptions(exceptions))):
            yield f"classes: wrong about {rows} with {exceptions!r}"


def counting_faults():
    """The counting, against the sample."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder).resolve()
        path = root / "src" / "sample" / "sample.cpp"
        path.parent.mkdir(parents=True)
        path.write_text(class_samples.SOURCE)
        reading = reading_of(parse(path, ["-x", "c++", "-std=c++20"]), root)
    found = {name: row[:2] for name, row in merged([reading]).items()}
    for name in sorted(found.keys() | class_samples.COUNTED.keys()):
        expected = class_samples.COUNTED.get(name)
        if found.get(name) != expected:
            yield f"classes: {name} has {expected}, counted {found.get(name)}"


def table(found):
    for name, row in sorted(found.items(), key=lambda item: (-item[1][0], -item[1][1], item[0])):
        yield f"{row[0]:4} {row[1]:3}  {name}  {row[2]}"


def run(arguments):
    if arguments == ["--self-test"]:
        return [*verdict_faults(), *counting_faults()]
    found = merged(readings(Path(arguments[0]).resolve()))
    if arguments[1:] == ["--list"]:
        print("\n".join(table(found)))
        return []
    return list(problems(found, read_exceptions(EXCEPTIONS.read_text())))


def main(arguments):
    if not arguments or arguments[1:] not in ([], ["--list"]):
        print(__doc__, file=sys.stderr)
        return 64
    try:
        faults = run(arguments)
    except (Failed, ImportError, OSError) as why:
        print(f"the classes cannot be counted: {why}", file=sys.stderr)
        return 2
    print("\n".join(faults), end="\n" if faults else "")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
