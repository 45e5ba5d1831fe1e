"""The rule of the commands: what the documents and the examples tell people to run is there."""

import re

# program -> the folders whose sources declare its commands and options.
PROGRAMS = {"herdlock": ("src/cli", "src/terminal"), "herdlock-lab": ("lab", "src/terminal")}
# A command is added by its name, and a scene is listed by it.
ADDED = re.compile(r'\badd(?:_command|_below)?\((?:[^";()]*[,(])?\s*"([a-z][a-z-]*)"|'
                   r'\blisted_scene const \w+\{\s*(?:\.name\s*=\s*)?"([a-z][a-z-]*)"')
GIVEN = {"--help"}  # by CLI11
TYPED = r"(?:^|[`/]|sudo )PROGRAM ([a-z][a-z-]*)([^`\n]*)"
EXAMPLES = (".service", ".cron")


def declared(tree, folders):
    """(commands, all text) of the sources."""
    text = "".join(file.text for file in tree.cpp(*folders))
    return {first or second for first, second in ADDED.findall(text)}, text


def unknown(words, options, commands, sources):
    yield from (f"command {word}" for word in words if word not in commands)
    for option in options:
        if option not in GIVEN and not re.search(rf'["\',]{option}["\',{{]', sources):
            yield f"option {option}"


def documents(tree):
    """(name, text) of what people read and copy."""
    for file in tree.files:
        if file.path.suffix == ".md" and file.name != "CHANGELOG.md":
            yield file.name, file.text
    for path in sorted((tree.root / "examples").glob("*")):
        if path.suffix in EXAMPLES:
            yield f"examples/{path.name}", path.read_text()


def rule_commands_exist(tree):
    """What people are told to run are commands, scenes and options that there are."""
    dev = tree.get("dev")
    programs = {name: declared(tree, folders) for name, folders in PROGRAMS.items()}
    for name, text in documents(tree):
        def line_of(match):
            return text.count("\n", 0, match.start(1)) + 1

        for match in re.finditer(r"\./dev ([a-z]\w*)", text):
            if dev and f"command_{match[1]}()" not in dev.text:
                yield name, line_of(match), f"dev has no command {match[1]}"
        for match in re.finditer(r"\./dev demo ([a-z][a-z-]*)", text):
            if match[1] not in programs["herdlock-lab"][0]:
                yield name, line_of(match), f"there is no scene {match[1]}"
        for program, (commands, sources) in programs.items():
            for match in re.finditer(TYPED.replace("PROGRAM", program), text, re.MULTILINE):
                options = re.findall(r"--[a-z][a-z-]*", match[2].split(" -- ")[0])
                for what in unknown([match[1]], options, commands, sources):
                    yield name, line_of(match), f"{program} has no {what}"
