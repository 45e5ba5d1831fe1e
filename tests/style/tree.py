"""The files of the house, read once, and C++ text without comments or literals."""

import re
from functools import cached_property
from pathlib import Path

SKIPPED = {".git", "build", "__pycache__", ".cache", ".vscode", ".idea"}
CPP = {".hpp", ".cpp"}
TEXT = CPP | {".lua", ".py", ".cmake", ".in", ".sh", ".md", ".txt", ".json", ".yml", ""}

TOKEN = re.compile(
    r"""(?P<keep>\b\d(?:'?[\w.])*)             # a number, perhaps with digit separators
      | (?P<raw>R"(?P<mark>[^(\s]{0,16})\(.*?\)(?P=mark)")
      | (?P<text>"(?:\\.|[^"\\\n])*")
      | (?P<char>'(?:\\.|[^'\\\n])+')
      | (?P<note>//[^\n]*|/\*.*?\*/)""",
    re.VERBOSE | re.DOTALL,
)


class File:
    """One file: its path inside the house, its text, and its code."""

    def __init__(self, root, path):
        self.path = path.relative_to(root)
        self.name = self.path.as_posix()
        self.text = path.read_bytes().decode("utf-8", errors="replace")

    @property
    def lines(self):
        return self.text.splitlines()

    @property
    def is_cpp(self):
        return self.path.suffix in CPP

    @property
    def is_header(self):
        return self.path.suffix == ".hpp"

    def under(self, *folders):
        return any(self.name.startswith(folder + "/") for folder in folders)

    @cached_property
    def code(self):
        """The text with comments blanked and literals emptied; line numbers stay."""

        def blank(match):
            if match["keep"]:
                return match[0]
            gap = "\n" * match[0].count("\n")
            if match["note"]:
                return " " + gap
            return "'_'" if match["char"] else '""' + gap

        return TOKEN.sub(blank, self.text)

    @cached_property
    def includes(self):
        """(line number, path) of each include."""
        found = re.finditer(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', self.text, re.MULTILINE)
        return [(self.line_at(match.start(1)), match[1]) for match in found]

    def line_at(self, offset):
        return self.text.count("\n", 0, offset) + 1

    def find(self, pattern, flags=0):
        """(line number, match) of a pattern in the code."""
        for match in re.finditer(pattern, self.code, flags):
            yield self.code.count("\n", 0, match.start()) + 1, match

    def find_text(self, pattern, flags=0):
        """The same in the whole text, comments and literals included."""
        for match in re.finditer(pattern, self.text, flags):
            yield self.line_at(match.start()), match


class Tree:
    """All text files under a root."""

    def __init__(self, root):
        self.root = Path(root).resolve()
        self.files = sorted(self._read(self.root), key=lambda file: file.name)
        self.names = {file.name for file in self.files}

    def _read(self, folder):
        for path in folder.iterdir():
            if path.is_symlink() or path.name in SKIPPED:
                continue
            if path.is_dir():
                yield from self._read(path)
            elif path.suffix in TEXT:
                yield File(self.root, path)

    def cpp(self, *folders):
        return [f for f in self.files if f.is_cpp and (not folders or f.under(*folders))]

    def lua(self):
        return [file for file in self.files if file.path.suffix == ".lua"]

    def get(self, name):
        return next((file for file in self.files if file.name == name), None)
