"""Makes NAME.patch and list.tsv from the replacements below, against HEAD of TREE (argument 1)."""
import difflib, subprocess, sys
TREE = sys.argv[1] if len(sys.argv) > 1 else "."
OUT = "set-aside/faults/"
U = ("unit_tests", "tests/unit/unit_tests")
E2E = ("herdlock_cli e2e_tests", "tests/e2e/e2e_tests")
HOT = ("herdlock_cli hot_command_tests", "tests/e2e/hot_command_tests")
DOC = ("herdlock_cli doctor_tests", "tests/e2e/doctor_tests")
F = ("fault_tests", "tests/fault/fault_tests")
C = ("contract_tests", "tests/contract/contract_tests")
CU = ("redis_cluster_unit_tests", "tests/unit/redis_cluster_unit_tests")
ROWS = []
def row(name, program, tests, what, *edits, base="HEAD"):
    ROWS.append((name, program, tests, what, edits, base))
def mended_later(*arguments):
    """Its mend, or its test, is only in the working copy of TREE as yet."""
    row(*arguments, base="copy")
exec(open(OUT + "tools/rows.py").read())
names = set()
with open(OUT + "list.tsv", "w") as table:
    for name, (target, path), tests, what, edits, base in ROWS:
        assert name not in names, name
        names.add(name)
        text, files = "", {}
        for file, old, new in edits:
            if file not in files:
                was = open(TREE + "/" + file).read() if base == "copy" else subprocess.run(
                    ["git", "-C", TREE, "show", "HEAD:" + file], check=True,
                    capture_output=True).stdout.decode()
                files[file] = [was, was]
            assert files[file][1].count(old) == 1, (name, file, old, files[file][1].count(old))
            files[file][1] = files[file][1].replace(old, new)
        for file, (was, now) in files.items():
            text += f"diff --git a/{file} b/{file}\n"
            text += "".join(difflib.unified_diff(was.splitlines(True), now.splitlines(True),
                                                 "a/" + file, "b/" + file))
        open(OUT + name + ".patch", "w").write(text)
        tests = tests.strip() if path.startswith("!") else ":".join(tests.split())
        assert "\t" not in what and "\n" not in what
        table.write("\t".join((name, target, path, tests, what)) + "\n")
        changed = sum(l[0] in "+-" and l[:3] not in ("+++", "---") for l in text.splitlines() if l)
        for tree in (TREE,) if base == "copy" else (TREE, "."):
            done = subprocess.run(["git", "-C", tree, "apply", "--check", OUT + name + ".patch"],
                                  capture_output=True, text=True)
            if done.returncode: print(name, tree, done.stderr)
        print(f"{name:16} {changed:3} lines")
print(len(ROWS), "patches")
