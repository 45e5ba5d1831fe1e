"""The C++ of README.md and the guide as a program, so that it is compiled.

    readme_block.py PAGE… OUTPUT

The blocks of a page stand behind each other in a namespace of the page's own. One that begins with
a function or its declaration stays as it is; any other one is what a function does.
"""

import re
import sys
from pathlib import Path

# What a reader has of his own.
HIS = """#include <iostream>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

struct database_stub {
  std::optional<std::string> find_name(int number);
};
extern database_stub database;
std::vector<std::string> parts();
void write_part(std::string const& part, herdlock::fencing_token fencing);
void write_report(herdlock::fencing_token fencing);
void abandon_report();
void work_a_little(herdlock::fencing_token term);
"""
ON_TOP = r"#include|using namespace|namespace \w+ ="
FUNCTION = r"(asio::awaitable<\w+>|void|bool|int|std::string) \w+\("
OPENED = r"\bauto store\b"


def blocks(page):
    return re.findall(r"^```cpp\n(.*?)^```", page, re.DOTALL | re.MULTILINE)


def block_code(lines, number):
    code = "\n".join(lines).strip("\n")
    if re.match(FUNCTION, code):
        return code
    shown = re.findall(r"^auto (?:const )?(\w+) =", code, re.MULTILINE)
    code += "".join(f"\nstatic_cast<void>({name});" for name in shown)
    body = re.sub(r"^(?=.)", "  ", code, flags=re.MULTILINE)
    has = "" if re.search(OPENED, code) else "[[maybe_unused]] herdlock::store store"
    return f"void block_{number}({has}) {{\n{body}\n}}"


def program(pages):
    top, rest = {}, []
    for number, page in enumerate(pages):
        found = blocks(page)
        if not found:
            continue
        rest.append(f"namespace page_{number} {{")
        for at, block in enumerate(found):
            lines = block.splitlines()
            top.update((line.partition("  //")[0], None) for line in lines
                       if re.match(ON_TOP, line))
            rest.append(block_code([line for line in lines if not re.match(ON_TOP, line)], at))
        rest.append("}")
    shown = sorted(top, key=lambda line: not line.startswith("#include"))
    return "\n".join([*shown, HIS, *rest, ""])


def main(pages, output):
    texts = [Path(page).read_text() for page in pages]
    if not blocks(texts[0]):
        sys.exit(f"{pages[0]} shows no C++")
    Path(output).write_text(program(texts))


if __name__ == "__main__":
    main(sys.argv[1:-1], sys.argv[-1])
