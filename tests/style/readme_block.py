"""The C++ of README.md as a program, so that it is compiled: readme_block.py README.md OUTPUT."""

import re
import sys
from pathlib import Path

# What a reader has of his own.
HIS = """#include <iostream>
#include <optional>
#include <string>

struct database_stub {
  std::optional<std::string> find_name(int number);
};
extern database_stub database;
void write_report(herdlock::fencing_token fencing);
void abandon_report();
"""


def program(readme):
    blocks = re.findall(r"^```cpp\n(.*?)^```", readme, re.DOTALL | re.MULTILINE)
    lines = "".join(blocks).splitlines()
    top = [line for line in lines if re.match(r"#include|using namespace", line)]
    rest = [line for line in lines if line not in top]
    if not rest:
        sys.exit("README.md shows no C++")
    body = "\n".join("  " + line if line else "" for line in rest)
    shown = "\n".join(top)
    return f"{shown}\n{HIS}\nint main() {{\n{body}\n  static_cast<void>(name);\n}}\n"


def main(readme, output):
    Path(output).write_text(program(Path(readme).read_text()))


if __name__ == "__main__":
    main(*sys.argv[1:])
