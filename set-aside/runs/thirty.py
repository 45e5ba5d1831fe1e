"""30 runs of each touched test, beside load; thirty.py [REPEATS]. Logs in ~/faults/thirty/."""
import json, os, re, subprocess, sys, threading, time, queue
B = "~/main/build/release/tests"; OUT = "~/faults/thirty"; os.makedirs(OUT, exist_ok=True)
touched = json.load(open("~/faults/touched.json"))
def listed(program):
    r = subprocess.run([f"{B}/{program}", "--gtest_list_tests"], cwd=os.path.dirname(f"{B}/{program}"), capture_output=True, text=True)
    suite, names = None, []
    for line in r.stdout.split("\n"):
        if line and not line.startswith(" "): suite = line.split("#")[0].strip()
        elif line.strip(): names.append(suite + line.split("#")[0].strip())
    return names
folders = {"contract": ["contract/contract_tests"], "e2e": ["e2e/e2e_tests", "e2e/doctor_tests", "e2e/hot_command_tests", "e2e/run_session_tests"],
  "fault": ["fault/fault_tests", "fault/look_up_tests", "fault/rotated_files_tests"], "interop": ["interop/interop_tests"],
  "unit": ["unit/unit_tests", "unit/cache_tests", "unit/hot_tests", "unit/election_threads_tests", "unit/logging_spdlog_tests", "unit/redis_cluster_unit_tests", "unit/quorum_tests", "unit/etcd_unit_tests", "unit/near_tests", "unit/resp_tests", "unit/freshness_tests", "unit/in_process_tests"]}
jobs, missing = [], []
for folder, programs in folders.items():
    names = {p: listed(p) for p in programs}
    for f, tests in touched.items():
        if not f.startswith(f"tests/{folder}/"): continue
        found = {}
        for kind, suite, name in tests:
            rx = re.compile(r"^(\w+/)?" + re.escape(suite) + r"(/\d+)?\." + re.escape(name) + r"(/.*)?$")
            for p, all_ in names.items():
                hit = [n for n in all_ if rx.match(n)]
                if hit: found.setdefault(p, []).extend(hit); break
            else: missing.append((f, suite, name))
        for p, l in found.items(): jobs.append((f, p, l))
print("files", len(jobs), "tests", sum(len(j[2]) for j in jobs), "missing", missing, flush=True)
if "--list" in sys.argv: sys.exit()
repeats = int(sys.argv[1]) if len(sys.argv) > 1 else 30
order = {"tests/contract": 0, "tests/fault": 1, "tests/e2e": 2}
jobs.sort(key=lambda j: order.get("/".join(j[0].split("/")[:2]), 3))
q = queue.Queue(); [q.put(j) for j in jobs]
def work():
    while True:
        try: f, p, l = q.get_nowait()
        except queue.Empty: return
        n = 20 if "process_contract" in f else repeats
        log = f"{OUT}/{os.path.basename(f)}.log"; began = time.time()
        with open(log, "w") as out:
            r = subprocess.run([f"{B}/{p}", "--gtest_color=no", f"--gtest_repeat={n}", "--gtest_filter=" + ":".join(l)], cwd=os.path.dirname(f"{B}/{p}"), stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT)
        text = open(log, errors="replace").read()
        ok = len(re.findall(r"^\[       OK \] ", text, re.M)); ran = len(re.findall(r"^\[ RUN      \] ", text, re.M))
        bad = sorted(set(re.findall(r"^\[  FAILED  \] (\S+?),? .*\(\d+ ms\)$", text, re.M)))
        print(f"{time.strftime('%T')} {f} {len(l)} tests x {n}: {ok} of {ran}, status {r.returncode}, {time.time()-began:.0f} s {bad}", flush=True)
ts = [threading.Thread(target=work) for _ in range(4)]
[t.start() for t in ts]; [t.join() for t in ts]
print("done", flush=True)
