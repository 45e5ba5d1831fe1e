"""groups.py N: applies the faults of group N to the worktree, builds, runs each one's tests; result.tsv."""
import os, re, subprocess, sys, time
TREE = "~/wt-faults"; HERE = "~/faults"
G = {
 "1": "H2 H4 H7_cut H7_demo H7_hot_list H7_time_point L1 L11 L13a L14 L2 L3 L4 L6_machine L9 N10 N11 N14 N2_etcd N2_refusal N2_once N4_doctor P2 P5 U9 U10 W1 L9_mysql".split(),
 "2": "H2_greeting H7_text H7_text_hot H7_text_spdlog H7_threshold L13b L3_confirmed L5 L6_back L7 L7_stores L9_postgres N13 N17_lease N2_leave N2_leave_unit N3 N4 N5 N17_etcd N17_finding P2_stop".split(),
 "3": "L5_etcd L5_mysql L5_postgres L5_machine L6 L7_users L8 L8_stores U5 U1 N17_election N17_store N2_min_hold U4".split(),
 "4": "L5_roll U2 N17_duration L6_back".split(), "5": "P1".split(),
}
rows = {}
for line in open(f"{HERE}/list.tsv"):
    f = line.rstrip("\n").split("\t")
    if len(f) >= 4 and not f[0].startswith("#"): rows[f[0]] = f
def sh(*a, **k): return subprocess.run(a, **k)
group = sys.argv[1]; names = G[group]
sh("git", "checkout", "-q", "src", "include", "cmake", cwd=TREE)
seen = set()
for n in names:
    text = open(f"{HERE}/{n}.patch").read()
    if text in seen: continue
    seen.add(text)
    r = sh("git", "apply", f"{HERE}/{n}.patch", cwd=TREE)
    if r.returncode: print("does not apply together:", n); sys.exit(1)
if "--check" in sys.argv: sh("git", "checkout", "-q", "src", "include", "cmake", cwd=TREE); print("ok", group); sys.exit(0)
targets = sorted({t for n in names for t in rows[n][1].split()})
env = dict(os.environ, CCACHE_BASEDIR=TREE)
began = time.time()
if not os.path.exists(f"{TREE}/build/release/build.ninja"):
    r = sh("cmake", "--preset", "release", "-DHERDLOCK_TESTS=ON", "-DHERDLOCK_EXTRA_TESTS=ON", "-DHERDLOCK_EXAMPLES=OFF", "-DHERDLOCK_BENCH=OFF", cwd=TREE, env=env, stdout=open(f"{HERE}/configure.log", "w"), stderr=subprocess.STDOUT)
    if r.returncode: print("configure failed"); sys.exit(1)
r = sh("cmake", "--build", "build/release", "-j2", "--target", *targets, cwd=TREE, env=env, stdout=open(f"{HERE}/build-{group}.log", "w"), stderr=subprocess.STDOUT)
print(f"group {group} built in {time.time()-began:.0f} s: {r.returncode}", flush=True)
if r.returncode: sys.exit(1)
os.makedirs(f"{HERE}/logs", exist_ok=True)
for n in names:
    program, filt = rows[n][2], rows[n][3]
    if program.startswith("!"): continue
    log = f"{HERE}/logs/{n}.log"; began = time.time()
    with open(log, "w") as out:
        p = subprocess.Popen([f"{TREE}/build/release/{program}", "--gtest_color=no", f"--gtest_filter={filt}"], cwd=os.path.dirname(f"{TREE}/build/release/{program}"), stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, start_new_session=True)
        try: status = p.wait(240)
        except subprocess.TimeoutExpired:
            os.killpg(p.pid, 15); time.sleep(2)
            try: os.killpg(p.pid, 9)
            except ProcessLookupError: pass
            status = "time"; p.wait()
    text = open(log, errors="replace").read()
    ran = len(re.findall(r"^\[ RUN      \] ", text, re.M)); ok = re.findall(r"^\[       OK \] (\S+)", text, re.M)
    skipped = len(re.findall(r"^\[  SKIPPED \] .* \(\d+ ms\)$", text, re.M))
    failed = ran - len(ok) - skipped
    verdict = "none" if not ran else "red" if failed == ran else "GREEN" if not failed else "partly"
    line = "\t".join([n, verdict, f"{failed}/{ran}", f"{time.time()-began:.0f} s", str(status), " ".join(ok) if verdict in ("partly", "GREEN") else ""])
    print(line, flush=True); open(f"{HERE}/result.tsv", "a").write(line + "\n")
sh("git", "checkout", "-q", "src", "include", "cmake", cwd=TREE)
