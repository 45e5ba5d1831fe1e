"""For each rule, what must be reported and what must not: (path, text) pairs."""

LONG = "x" * 101
HEAD = "// Its purpose.\n#pragma once\n"


STORE_PAGE = """# sqlite:

Good for one. Not for two.

## Promises

## Options

| option | default | range | effect |
|---|---|---|---|
| `timeout` | 2s | 1ms to `limit` | of a command |
| `max_bytes` | half of the disk | from 1 | of the file |

| option | of |
|---|---|
| `cert`, `key` | files |

## Rights and set-up

## Protocol

## Queue

## Decisions
"""

# All that had a number: the first on the page of a store, the others on a page of their own.
NUMBERS = [f"{number:03}" for number in range(1, 108) if number not in (49, 75)]
PARTS = "\n\n**Context.** a\n\n**Decision.** b\n\n**Consequence.** c\n\n**Rejected.** d\n"
DECISION = "\n### It's `001`!" + PARTS
DECISIONS = "# Some\n" + "".join(f"\n## No. {number}{PARTS}" for number in NUMBERS[1:])
DECISION_INDEX = "docs/decisions/README.md"
INDEX = "[some](some.md)\n\n| 001 | [a](../stores/sqlite.md#its-001) |\n" + "".join(
    f"| {number} | [a](some.md#no-{number}) |\n" for number in NUMBERS[1:])
WHY = "// Why: docs/stores/sqlite.md#its-001\n" + "".join(
    f"// Why: docs/decisions/some.md#no-{number}\n" for number in NUMBERS[1:30])


def body(lines):
    return "".join(f"  step({number});\n" for number in range(lines))


BAD = {
    "async_calls_are_work": [
        ("include/herdlock/bad.hpp",
         "auto async_good() {\n  return asio::async_initiate<T>(f);\n}\n"),
        ("include/herdlock/bad.hpp", "auto async_good() {\n  return start(x);\n}\n"),
        ("include/herdlock/bad.hpp", "auto async_good() {\n  return end(x);\n}\n"
                                     "auto end(int x) {\n  return start(x);\n}\n"),
        ("include/herdlock/bad.hpp", "auto async_bad() {\n  return detail::initiate<T>(f);\n}\n"),
        ("include/herdlock/bad.hpp",
         "asio::awaitable<bool> async_bad(lock x) {\n  co_return co_await x.async_good();\n}\n"),
    ],
    "includes": [
        ("include/herdlock/bad.hpp", "#include <sqlite3.h>\n"),
        ("include/herdlock/bad.hpp", "#include <boost/redis/connection.hpp>\n"),
        ("include/herdlock/bad.hpp", "#include <fmt/format.h>\n"),
        ("include/herdlock/bad.hpp", '#include "runtime/timer.hpp"\n'),
        ("src/algo/bad.cpp", "#include <herdlock/backend.hpp>\n"),
        ("src/algo/bad.cpp", "#include <random>\n"),
        ("src/algo/bad.cpp", "#include <boost/asio/steady_timer.hpp>\n"),
        ("src/algo/bad.cpp", "#include <unistd.h>\n"),
        ("src/algo/bad.cpp", '#include "runtime/timer.hpp"\n'),
        ("src/resp/bad.cpp", "#include <herdlock/backend.hpp>\n"),
        ("src/resp/bad.cpp", "#include <thread>\n"),
        ("src/resp/bad.cpp", "#include <boost/asio/buffer.hpp>\n"),
        ("src/resp/bad.cpp", '#include "algo/quorum.hpp"\n'),
        ("src/algo/bad.cpp", '#include "resp/parser.hpp"\n'),
        ("src/stores/redis/bad.cpp", "#include <herdlock/lock.hpp>\n"),
        ("src/stores/redis/bad.cpp", '#include "runtime/timer.hpp"\n'),
        ("src/stores/redis/bad.cpp", '#include "../sqlite/store.hpp"\n'),
        ("src/stores/redis/bad.cpp", '#include "stores/sqlite/store.hpp"\n'),
        ("src/stores/redis/bad.cpp", "#include <sqlite3.h>\n"),
        ("src/stores/redis/bad.cpp", "#include <boost/redis/connection.hpp>\n"),
        ("src/runtime/bad.cpp", '#include "stores/sqlite/store.hpp"\n'),
        ("src/cli/bad.cpp", '#include "runtime/timer.hpp"\n'),
        ("src/cli/bad.cpp", "#include <sqlite3.h>\n"),
        ("src/cli/bad.cpp", "#include <mysql.h>\n"),
        ("src/cli/bad.cpp", '#include "look/show.hpp"\n'),
        ("src/cli/hot/bad.cpp", '#include "look/show.hpp"\n'),
        ("src/cli/common/bad.cpp", '#include "look/show.hpp"\n'),
        ("src/cli/bad.cpp", '#include "stage/report.hpp"\n'),
        ("src/terminal/bad.cpp", '#include "common/shared.hpp"\n'),
        ("src/terminal/bad.cpp", "#include <nlohmann/json.hpp>\n"),
        ("lab/stage/bad.cpp", '#include "scenes/one.hpp"\n'),
        ("lab/scenes/bad.cpp", '#include "common/shared.hpp"\n'),
        ("lab/stage/bad.cpp", "#include <sqlite3.h>\n"),
        ("src/local/bad.cpp", "#include <support/relay.hpp>\n"),
        ("examples/bad.cpp", '#include "runtime/timer.hpp"\n'),
    ],
    "file_length": [
        ("include/herdlock/bad.hpp", "//\n" * 301),
        ("src/local/bad.cpp", "//\n" * 401),
        ("src/stores/redis/scripts/bad.lua", "--\n" * 151),
    ],
    "function_length": [
        ("src/local/bad.cpp", "namespace a {\nvoid f(int x) {\n" + body(69) + "}\n}\n"),
        ("src/local/bad.cpp", "struct a {\n  int f() const {\n" + body(69) + "  }\n};\n"),
        ("src/local/bad.cpp", "a::a(int x) : x_(x), y_{x} {\n" + body(70) + "}\n"),
        ("tests/unit/bad_test.cpp", "TEST(a, Grows) {\n" + body(69) + "}\n"),
        ("src/local/bad.cpp", "auto f() -> list<int> {\n  if (x) {\n" + body(70) + "  }\n}\n"),
    ],
    "columns": [
        ("src/local/bad.cpp", f"// {LONG}\n"),
        ("cmake/bad.cmake", f"# {LONG}\n"),
        ("tests/bad.py", f"# {LONG}\n"),
        ("src/stores/redis/scripts/bad.lua", f"-- {LONG}\n"),
    ],
    "whitespace": [
        ("src/local/bad.cpp", "int x;"),
        ("src/local/bad.cpp", "int x;\n\n"),
        ("src/local/bad.cpp", "int x; \nint y;\n"),
        ("src/local/bad.cpp", "\tint x;\n"),
        ("docs/bad.md", "text\r\n"),
        ("src/stores/redis/scripts/bad.lua", "\treturn 1\n"),
    ],
    "header_opening": [
        ("include/herdlock/bad.hpp", "#pragma once\n"),
        ("src/local/bad.hpp", "// Its purpose.\n#ifndef BAD\n#endif\n"),
    ],
    "public_headers_reachable": [("include/herdlock/bad.hpp", HEAD)],
    "sources_registered": [
        ("tests/unit/bad_test.cpp", "int x;\n"),
        ("src/local/bad.cpp", "int x;\n"),
    ],
    "script_parts_included": [
        ("src/stores/redis/scripts/parts/bad.lua", "local x = 1\n"),
        ("src/stores/redis/scripts/bad.lua", "--@include parts/nothing.lua\n"),
    ],
    "lua_is_in_lua_files": [
        ("src/stores/redis/bad.cpp", "auto x = \"return redis.call('GET', KEYS[1])\";\n"),
    ],
    "tests_run": [
        ("tests/unit/bad_test.cpp", "std::this_thread::sleep_for(1s);\n"),
        ("tests/unit/bad_test.cpp", "::usleep(10);\n"),
        ("tests/unit/bad_test.cpp", "sleep (1);\n"),
        ("tests/e2e/bad.py", "time.sleep(1)\n"),
        ("tests/unit/bad_test.cpp", "TEST(a, DISABLED_Works) {}\n"),
        ("tests/unit/bad_test.cpp", "GTEST_SKIP();\n"),
    ],
    "tests_check": [
        ("tests/unit/bad_test.cpp", "TEST(a, B) { EXPECT_TRUE(x); }\n\nTEST(a, C) {\n  f();\n}\n"),
    ],
    "nothing_left_to_do": [
        ("src/local/bad.cpp", "// TODO: later\n"),
        ("cmake/bad.cmake", "# FIXME\n"),
    ],
    "algo_is_pure": [
        ("src/algo/bad.cpp", "auto t = clock::now();\n"),
        ("src/algo/bad.cpp", "std::random_device r;\n"),
        ("src/algo/bad.cpp", "std::mutex m;\n"),
        ("src/algo/bad.cpp", "static int calls = 0;\n"),
        ("src/algo/bad.cpp", "int s = ::socket(1, 2, 3);\n"),
    ],
    "no_wall_clock": [
        ("src/local/bad.cpp", "auto t = std::chrono::system_clock::now();\n"),
        ("include/herdlock/bad.hpp", "clock_gettime(CLOCK_REALTIME, &t);\n"),
    ],
    "names_are_looked_up_in_one_place": [
        ("src/stores/redis/bad.cpp", "resolver_.async_resolve(host, port, done);\n"),
        ("src/stores/mysql/bad.cpp", "int e = ::getaddrinfo(host, nullptr, &wanted, &found);\n"),
    ],
    "no_machine_names": [
        ("src/local/bad.cpp", 'auto path = "/home/someone/x";\n'),
        ("docs/bad.md", "see /work/shared\n"),
        ("tests/unit/bad_test.cpp", 'open("/tmp/x");\n'),
        ("cmake/bad.cmake", 'set(URL "http://deb.debian.org/debian")\n'),
    ],
    "words": [
        ("include/herdlock/bad.hpp", "// The lock name.\n"),
        ("src/local/bad.hpp", "struct dogpile;\n"),
        ("src/stores/redis/scripts/bad.lua", "-- The blocked client.\n"),
    ],
    "old_names": [
        ("src/runtime/bad.hpp", "struct wait_hub {};\n"),
        ("src/runtime/bad.hpp", "int x = f(wait_hub_);\n"),
        ("src/runtime/wait_hub.hpp", HEAD),
        ("src/runtime/wait_hub_ends.hpp", HEAD),
        ("tests/unit/bad_test.cpp", "TEST(WaitHub, Ends) {}\n"),
        ("tests/unit/bad_test.cpp", "class WaitHubTest {};\n"),
        ("src/stores/etcd/bad.cpp", "settle(x);\n"),
        ("src/stores/redis/bad.cpp", "struct get_call {};\n"),
        ("src/stores/mysql/bad.cpp", "int longest_silence_s;\n"),
        ("src/stores/redis/bad.cpp", "struct question final {};\n"),
        ("src/stores/redis/scripts/bad.lua", "local hurried = 1\n"),
        ("src/algo/bad.hpp", "using place = int;\n"),
        ("src/algo/bad.hpp", "std::string place() const;\n"),
        ("src/algo/bad.hpp", "int x = who->place;\n"),
        ("src/algo/bad.hpp", "int place_ = 0;\n"),
        ("tests/style/old_names_left.txt", "wait_hub src/runtime/gone.cpp\n"),
        ("tests/style/old_names_left.txt", "wait_hub src/runtime/left.cpp\n"
                                           "lobby src/runtime/left.cpp\n"),
    ],
    "cache_rooms": [("src/cache/keys/bad.hpp", "std::map<std::string, int> more_;\n"),
                    ("src/cache/engine/bad.cpp", "void f() {\n  if (freshness_) g();\n}\n"),
                    ("tests/style/cache_rooms.txt", "questions keys 1\n")],
    "comment_subjects": [
        ("src/local/bad.cpp", "// Of the entry.\n"),
        ("src/local/bad.cpp", "int x;  // Who waits\n        // is woken.\n"),
        ("include/herdlock/bad.hpp", "// One.\n//\n// Whatever is kept.\n"),
        ("src/cache/keys/bad.hpp", "int x;  ///< Its end.\nint y;  ///< Where it is.\n"),
        ("src/local/bad.cpp", "// Who is it?\n\n// What is it: one?\n"),
        ("tests/style/comment_subjects.txt", "runtime 1\n"),
        ("tests/style/comment_subjects.txt", "runtime 3\n"),
        ("tests/style/comment_subjects.txt", "local 1\nruntime 2\n"),
        ("tests/style/comment_subjects.txt", "runtime 2\nlocal 0\n"),
    ],
    "time_limits": [
        ("tests/fault/bad_test.cpp", "  EXPECT_LT(clock::now() - before, 100ms);\n"),
        ("tests/fault/bad_test.cpp", "  ASSERT_LE(took, 2s) << took;\n"),
        ("tests/fault/bad_test.cpp", "  EXPECT_GT(reply.remaining, 29s);\n"),
        ("tests/fault/bad_test.cpp", "  EXPECT_GT(stol(cli(\"PTTL k\")),\n            29'000);\n"),
        ("tests/fault/bad_test.cpp", "  EXPECT_LE(ends(), first + reading_ms);\n"),
    ],
    "no_choice_as_a_statement": [
        ("src/local/bad.cpp", "void f() { a ? g() : h(); }\n"),
        ("src/local/bad.cpp", "void f() {\n  if (x) a == b ? g() : h(1, 2);\n}\n"),
        ("src/local/bad.cpp", "void f() {\n  post([c = 1] {\n    a ? g(c) : h();\n  });\n}\n"),
        ("src/local/bad.cpp", "void f() {\n  case x::a: b(c) ? y.g() : z{1}.h();\n}\n"),
        ("tests/unit/bad_test.cpp", "void f() {\n  for (;;) *a\n      ? g()\n      : h();\n}\n"),
    ],
    "no_bool_arguments": [
        ("include/herdlock/bad.hpp", "void f(int x, bool force);\n"),
        ("src/local/bad.cpp", "void f(bool force = true) {}\n"),
    ],
    "links": [
        ("docs/bad.md", "[a](missing.md)\n"),
        ("docs/bad.md", "# One\n[a](#two)\n"),
        ("README.md", "[a](docs/good.md#nowhere)\n"),
    ],
    "bugs_are_known": [
        ("src/local/bad.cpp", "// Whoever waits is woken (B9).\n"),
        ("tests/unit/bad_test.cpp", "TEST(a, B) { check(); }  // S6\n"),
        ("include/herdlock/bad.hpp", "/* One line,\n   and B10. */\n"),
        ("src/stores/redis/scripts/bad.lua", "return 1  -- B9\n"),
    ],
    "guarding_tests_exist": [
        ("docs/known-bugs.md", "### B1: one\n- `a.Sits` (unit/good_test.cpp)\n"),
        ("docs/known-bugs.md", "### B1: one\n- `a.Runs` (unit/other_test.cpp)\n"),
        ("docs/testing.md", "| one | `a.Sits` (unit/good_test.cpp) |\n"),
    ],
    "decisions": [
        ("docs/decisions/bad.md", "# Not listed\n\n## One" + PARTS),
        ("docs/decisions/some.md", DECISIONS.replace("**Rejected.** d", "", 1)),
        ("docs/decisions/some.md", DECISIONS + "\n## No. 002" + PARTS),
        ("docs/decisions/some.md", DECISIONS + "line\n" * 40),
        ("docs/stores/sqlite.md", STORE_PAGE + DECISION + "\n### Not listed" + PARTS),
    ],
    "decision_numbers": [
        (DECISION_INDEX, INDEX.replace("| 050 |", "| 051 |")),
        (DECISION_INDEX, INDEX.replace("| 107 |", "| – |")),
        (DECISION_INDEX, INDEX + "| 108 | [a](some.md#no-002) |\n"),
        (DECISION_INDEX, INDEX.replace("no-002", "no-000")),
        (DECISION_INDEX, INDEX.replace("sqlite.md#its-001", "sqlite.md#queue")),
    ],
    "named_anchors_exist": [
        ("src/local/bad.cpp", "// Why: docs/decisions/some.md#no-000\n"),
        ("src/stores/redis/scripts/bad.lua", "-- Why: docs/decisions/gone.md#no-002\n"),
        ("cmake/bad.cmake", "# docs/good.md#what-it-was\n"),
        (DECISION_INDEX, INDEX.replace("some.md#no-002", "some.md#no-050")),
    ],
    "promises_are_tested": [("docs/guarantees.md", "### One holder\n\n### Not promised\n")],
    "documents_indexed": [
        ("docs/guide/bad.md", "# Found by nobody\n"),
        ("docs/decisions/bad.md", "# Found by nobody\n"),
    ],
    "document_length": [
        ("docs/guide/bad.md", "line\n" * 81),
        ("docs/architecture.md", "line\n" * 171),
    ],
    "named_files_exist": [
        ("docs/bad.md", "See `src/local/gone.cpp`.\n"),
        ("README.md", "See `src/stores/NAME/gone.hpp`.\n"),
        ("src/local/bad.cpp", "// docs/gone.md draws it.\n"),
        ("src/stores/redis/scripts/bad.lua", "-- docs/gone.md draws it.\n"),
    ],
    "code_in_documents": [("docs/bad.md", "```cpp\nint x;\n```\n")],
    "commands_exist": [
        ("docs/bad.md", "```sh\nherdlock demo stampede\n```\n"),
        ("docs/bad.md", "See it: `herdlock-lab stampeed`.\n"),
        ("docs/bad.md", "`herdlock-lab stampede --proceses 3`\n"),
        ("docs/bad.md", "`./dev demo stampeed`\n"),
        ("examples/bad.service", "ExecStart=/usr/bin/herdlock rum x -- /bin/true\n"),
        ("examples/bad.cron", "0 3 * * * me /usr/bin/herdlock run x --tlt 1m -- /bin/true\n"),
        ("docs/bad.md", "```sh\n./dev tset\n```\n"),
        ("docs/bad.md", "```sh\nherdlock rum x -- cmd\n```\n"),
        ("README.md", "Say `herdlock run x --tlt 1m -- cmd`.\n"),
    ],
    "url_options_exist": [
        ("docs/bad.md", "Take `redis://…?tiemout=2s`.\n"),
        ("README.md", "```sh\nprogram 'sqlite:a.db?timeout=2s&tiemout=1s'\n```\n"),
    ],
    "store_pages": [
        ("docs/stores/sqlite.md", "# sqlite:\n\nGood for one. Not for two.\n\n## Promises\n"),
        ("docs/stores/sqlite.md", STORE_PAGE.replace("Not for", "Rather for")),
        ("docs/stores/redis.md", ""),
    ],
    "store_options": [
        ("docs/stores/sqlite.md", STORE_PAGE.replace("`timeout`", "`tiemout`")),
        ("docs/stores/sqlite.md", STORE_PAGE.replace("| 2s |", "| 3s |")),
        ("docs/stores/sqlite.md", STORE_PAGE.replace("from 1", "from 2")),
        ("docs/stores/sqlite.md", STORE_PAGE.replace("`cert`", "cert")),
    ],
    "short_cells": [("docs/stores/sqlite.md", "| a | b |\n|---|---|\n| " + "word " * 41 + "| |\n")],
}

# In order as a whole, and full of what a careless pattern would take for a fault.
GOOD = {
    "CMakeLists.txt": "add_subdirectory(src)\n",
    "README.md": "# The house\n[a](docs/good.md#what-it-is) [b](https://example.org)\n"
                 "[c](#the-house)\n",
    "dev": "#!/bin/sh\ncommand_test() { true; }\ncommand_demo() { true; }\n",
    "docs/good.md": "# What it is\n\n```\n[not a link](nowhere.md)\n`src/gone.cpp`\n```\n"
                    "`src/stores/NAME/store.hpp`, `src/algo/machine.*`, `src/algo/`\n"
                    "```sh\n./dev test\n./dev demo stampede\nherdlock run x --ttl 1m --help\n"
                    "herdlock run x -- cmd --else\nherdlock-lab stampede --plot x.svg\n```\n"
                    "`sqlite:a.db?timeout=2s`\n",
    "examples/good.service": "ExecStart=/usr/bin/herdlock run x --ttl 1m -- /bin/true --yes\n",
    "src/cli/CMakeLists.txt": "herdlock_box(cli run/run.cpp)\n",
    "src/cli/run/run.cpp": '#include <CLI/App.hpp>\n\n#include "common/shared.hpp"\n'
                           '#include "terminal/words.hpp"\n\n'
                           'auto& run_app = add_command(app, "run", "Run a command");\n'
                           'auto* ttl = add_value(run_app, "--ttl", given);\n',
    "src/cli/common/shared.hpp": HEAD,
    "src/cli/look/show.hpp": HEAD + '\n#include "common/shared.hpp"\n',
    "src/terminal/words.hpp": HEAD + "\n#include <fmt/format.h>\n",
    "lab/CMakeLists.txt": "herdlock_lab_part(stampede scenes/stampede.cpp)\n",
    "lab/stage/report.hpp": HEAD + '\n#include <support/relay.hpp>\n'
                                   '#include "terminal/words.hpp"\n',
    "lab/scenes/one.hpp": HEAD,
    "lab/scenes/stampede.cpp": '#include <sqlite3.h>\n\n#include "scenes/one.hpp"\n'
                               '#include "stage/report.hpp"\n\n'
                               'char const* given = "--plot";\n'
                               'listed_scene const stampede_scene{"stampede", given};\n',
    "docs/stores/sqlite.md": STORE_PAGE + DECISION,
    "docs/README.md": "[good](good.md) [sqlite](stores/sqlite.md) [bugs](known-bugs.md)\n"
                      "[why](decisions/README.md)\n",
    "docs/known-bugs.md": "### B1: one\n- `a.Runs` (unit/good_test.cpp)\n",
    DECISION_INDEX: INDEX,
    "docs/decisions/some.md": DECISIONS,
    "src/algo/why.hpp": WHY + "#pragma once\n",
    "include/herdlock/herdlock.hpp": HEAD + "\n#include <herdlock/backend.hpp>\n",
    "include/herdlock/backend.hpp": HEAD + "\n#include <boost/asio/post.hpp>\n#include <memory>\n"
                                         "\n#include <herdlock/types.hpp>\n",
    "include/herdlock/types.hpp": HEAD + "\n#include <chrono>\n\nbool is_free();\n",
    "include/herdlock/error.hpp": HEAD,
    "include/herdlock/lock.hpp": HEAD + "auto async_good(int x = {}) {\n  return end(x);\n}\n"
                                      "auto end(int x) {\n  return initiate<int>(x);\n}\n",
    "src/algo/CMakeLists.txt": "herdlock_box(algo machine.cpp)\n",
    "src/algo/machine.hpp": HEAD,
    "src/algo/machine.cpp": '#include "algo/machine.hpp"\n\n#include <herdlock/types.hpp>\n'
                            "// Not clock::now(), not a mutex (B1). See docs/good.md.\n"
                            "static_assert(sizeof(int) == 4);\nstatic constexpr int few = 1'000;\n",
    "src/runtime/timer.hpp": HEAD,
    "src/runtime/CMakeLists.txt": "herdlock_box(runtime timer.cpp left.cpp)\n",
    "src/runtime/timer.cpp": '#include "runtime/timer.hpp"\n\n#include "algo/machine.hpp"\n'
                             "struct a {\n  bool free = true;\n  int x = f({1, 2});\n};\n"
                             "namespace b {\nint f() {\n" + body(68) + "}\nint g() {\n" + body(68) +
                             "}\n}\n",
    "src/stores/redis/scripts/good.lua": "--@include parts/good.lua\nreturn x  -- B1\n",
    "src/stores/redis/scripts/parts/good.lua": "-- See docs/good.md.\nlocal x = 1\n",
    "src/stores/sqlite/store.hpp": HEAD + "struct settings {\n  milliseconds timeout{2'000};\n};\n",
    "src/stores/sqlite/CMakeLists.txt": "herdlock_box(sqlite store.cpp)\n",
    "src/stores/sqlite/store.cpp": '#include "stores/sqlite/store.hpp"\n\n#include <sqlite3.h>\n\n'
                                   "#include <herdlock/backend.hpp>\n"
                                   'option o[] = {{"timeout", option_kind::duration, "2s",\n'
                                   '"1ms to limit", "of a command"},\n'
                                   '{"max_bytes", stores::option_kind::count, '
                                   '"half of the disk", "from 1", ""}};\n'
                                   'option tls_options[] = {\n'
                                   '{"cert", option_kind::text, "", "", ""},\n'
                                   '{"key", option_kind::text, "", "", ""}};\n',
    "src/runtime/left.cpp": "// The wait_hub of a lobby.\nwait_hub all(\"contender\");\nlobby x;\n"
                            "int place = x.places + settle(wait_hubs, ::link(a, b));\n",
    "tests/style/old_names_left.txt": "# Left.\n\nlobby src/runtime/left.cpp\n"
                                      "wait_hub src/runtime/left.cpp\n",
    "tests/style/comment_subjects.txt": "# Left.\nruntime 2\n",
    "src/runtime/comments.hpp": HEAD + "int x;  ///< Of it.\nint y;  ///< What it is.\n"
                                       "int z;  ///< of it\n// All\n// What is kept.\n"
                                       "// Who is it, and\n// where? Nobody knows.\n"
                                       "char const* s = \"// Of it\";\n",
    "src/runtime/choice.hpp": HEAD + "int x = a ? b : c;\nint y{1};\nint f() {\n  f(a ? b : c);\n"
                                     "  x = seconds{1} > s ? b() : c();\n  out << x ? b() : c();\n"
                                     "  if (a ? b : c) f();\n  return a ? b() : c();\n}\n",
    "tests/support/relay.hpp": HEAD,
    "tests/unit/CMakeLists.txt": "add_executable(unit good_test.cpp async_work_test.cpp)\n",
    "tests/unit/async_work_test.cpp": "TEST(a, b) {\n  EXPECT_TRUE(async_good());\n}\n",
    "tests/unit/good_test.cpp": "#include <gtest/gtest.h>\n#include <support/relay.hpp>\n\n"
                                "void run_all(int x) {\n  EXPECT_EQ(x, 1);\n}\n\n"
                                "TEST(a, Runs) { run_all(1); }\n\n"
                                'TEST(a, Waits) { EXPECT_EQ(run("sleep 60"), 1\'000); }\n',
}
GOOD["include/herdlock/herdlock.hpp"] += (
    "#include <herdlock/error.hpp>\n#include <herdlock/lock.hpp>\n")
