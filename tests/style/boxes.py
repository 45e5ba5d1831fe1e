"""Who may include whom: the layers of docs/architecture.md as a table."""

import posixpath
import re

# What a store may see of the public headers.
PORTS = {"herdlock/" + name for name in
         ("backend.hpp", "store_warnings.hpp", "report_store.hpp", "rules_store.hpp",
          "tracking_store.hpp", "inspect.hpp",
          "value.hpp", "types.hpp",
          "error.hpp", "url.hpp", "url_scheme.hpp", "examination.hpp", "survey.hpp",
          "detail/async.hpp")} | {
             "types/process_bound.hpp", "types/quiet_thread.hpp", "types/thread_name.hpp"}

# What all rooms of the cache may see.
CACHE = {"runtime", "local", "algo", "include", "types/process_bound.hpp", "types/quiet_thread.hpp",
         "types/thread_name.hpp"}

# box -> what it may include of ours: a box, or a public header by name.
ALLOWED = {
    "include": {"include"},
    "types": {"types", "herdlock/fencing.hpp", "herdlock/printable.hpp"} | PORTS,
    "algo": {"algo", "herdlock/types.hpp", "herdlock/error.hpp", "herdlock/election_state.hpp",
             "herdlock/hot_rule.hpp"},
    "resp": {"resp", "herdlock/types.hpp", "herdlock/error.hpp"},
    "local": {"local", "algo", "include"},
    "runtime": {"runtime", "algo", "include", "types/process_bound.hpp",
                "types/quiet_thread.hpp", "types/thread_name.hpp"},
    "cache/engine": {"cache/engine", "cache/keys", "cache/near", "cache/fleet"} | CACHE,
    "cache/keys": {"cache/keys", "cache/near", "cache/fleet"} | CACHE,
    "cache/near": {"cache/near", "cache/fleet"} | CACHE,
    "cache/fleet": {"cache/fleet"} | CACHE,
    "open": {"open", "runtime", "include", "stores/common/url_options.hpp"},
    "metrics": {"metrics", "include", "stores/common/close_on_exec.hpp"},
    "c": {"c", "include"},
    # What both programs say and how they read what is typed; and each of them.
    "terminal": {"terminal", "include"},
    "cli": {"cli", "terminal", "include", "stores/common/url_options.hpp"},
    "lab": {"lab", "include"},
    "lab/stage": {"lab/stage", "terminal", "include", "tests/support"},
    "lab/scenes": {"lab/scenes", "lab/stage", "terminal", "include", "tests/support"},
    "proxy": {"proxy", "include"},
    "examples": {"examples", "include"},
    # Its raw side sends what a store sends, without the store.
    "bench": {"bench", "lab/stage", "terminal", "include", "stores/redis", "stores/etcd",
              "stores/mysql", "stores/postgres", "stores/sqlite", "stores/zookeeper",
              "tests/support"},
}

# Client libraries, and the boxes that are built around them.
CLIENTS = {
    r"sqlite3": {"stores/sqlite", "lab/scenes", "tests", "bench", "examples"},
    r"(mysql|mariadb)[/.]": {"stores/mysql", "lab/scenes", "tests", "bench"},
    r"libpq": {"stores/postgres", "tests", "bench"},
    r"zookeeper/": {"stores/zookeeper", "tests", "bench"},
    r"boost/redis": {"bench"},
    r"boost/beast": {"stores/etcd", "metrics", "tests", "bench"},
    r"boost/mysql": set(),
    r"openssl/|boost/asio/ssl": {"stores/common", "stores/redis", "stores/etcd", "tests", "bench"},
    r"(CLI|fmt|spdlog)/": {"terminal", "cli", "lab", "proxy", "tests", "bench"},
    r"nlohmann/": {"stores/etcd", "cli", "lab", "proxy", "tests", "bench"},
    r"(gtest|gmock|rapidcheck)": {"tests"},
    r"(benchmark|hiredis)/": {"bench"},
}

# Public headers for a library of the user's choice: nothing of ours includes them.
ADAPTERS = {"include/herdlock/logging_spdlog.hpp": r"spdlog/"}

# What the public headers may have of Boost: no network client, nothing that needs a library.
PUBLIC_BOOST = r"boost/((asio|system|intrusive|smart_ptr|describe|mp11)[./]|version\.hpp$)"

# What the pure boxes may have of Boost.
PURE_BOOST = {"algo": r"boost/intrusive/", "resp": r"boost/container/"}

# What the pure boxes may have of the standard library is everything but these.
IMPURE = {"thread", "mutex", "shared_mutex", "condition_variable", "random", "future", "semaphore",
          "latch", "barrier", "stop_token", "fstream", "iostream", "filesystem", "ctime",
          "cstdlib", "coroutine"}


def box_of(name):
    """The box that a file of the house belongs to; None when it belongs to no box."""
    parts = name.split("/")
    if parts[0] == "src" and len(parts) > 2:
        has_rooms = parts[1] in ("stores", "cache") and len(parts) > 3
        return "/".join(parts[1:3]) if has_rooms else parts[1]
    if parts[0] in ("tests", "lab") and len(parts) > 2:
        return "/".join(parts[:2])
    return parts[0] if parts[0] in ("include", "examples", "bench", "tests", "lab") else None


def command_of(name):
    """The folder of a command that a source of src/cli is in; "" for src/cli itself and what the
    commands share, None elsewhere."""
    parts = name.split("/")
    if parts[:2] != ["src", "cli"]:
        return None
    return parts[2] if len(parts) > 3 and parts[2] != "common" else ""


def resolve(tree, file, included):
    """The file of the house that an include means; None for everybody else's headers."""
    here = file.path.parent.as_posix()
    for folder in ("include", here, "src", "src/cli", "lab", "tests", "bench"):
        path = posixpath.normpath(f"{folder}/{included}")
        if path in tree.names:
            return path
    return f"include/{included}" if included.startswith("herdlock/") else None


def refusal(file, box, included, target):
    """Why the box may not include this; None when it may."""
    if target and command_of(target) and command_of(file.name) not in (None, command_of(target)):
        return f"{included} is another command's: what they share goes to src/cli/common"
    if target:
        return refusal_of_ours(box, included, box_of(target))
    if file.name in ADAPTERS and re.match(ADAPTERS[file.name], included):
        return None
    for pattern, boxes in CLIENTS.items():
        if re.match(pattern, included) and not {box, box.split("/")[0]} & boxes:
            return f"{box} must not see <{included}>"
    standard = re.fullmatch(r"[a-z_0-9]+", included)
    if box == "include" and not standard and not re.match(PUBLIC_BOOST, included):
        return f"public headers see the standard library, Asio and Boost's basics; no <{included}>"
    if box in PURE_BOOST and (included in IMPURE or
                              not (standard or re.match(PURE_BOOST[box], included))):
        return f"src/{box} is pure: no <{included}>"
    return None


def refusal_of_ours(box, included, other):
    if box.startswith("tests"):
        return None
    if box.startswith("stores"):
        allowed = other in (box, "algo", "resp", "stores/common") or included in PORTS
    else:
        allowed = ALLOWED.get(box, set())
        allowed = other in allowed or included in allowed or other.split("/")[0] in allowed
    return None if allowed else f"{box} must not include {included} ({other})"
