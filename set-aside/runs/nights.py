# ten machines, a "night" each; argument: kind = ok | fail-hold | fail-free | away
from common import *
import random, threading, glob
kind, nights = sys.argv[1], int(sys.argv[2])
r = Redis().start(); base = tempfile.mkdtemp(); homes = [os.path.join(base, f'home{i}') for i in range(10)]
for h in homes: os.makedirs(h)
bad = 0
for n in range(nights):
    log = os.path.join(base, f'night{n}')
    fails = kind.startswith('fail') and n % 2 == 1
    job = f'echo "$(date +%s.%N) begin" >> {log}; sleep 0.2; echo "$(date +%s.%N) end" >> {log}; exit {1 if fails else 0}'
    args = [HERD, 'run', f'report', '--store', r.url, '--once-per', '10s', ]
    args = [HERD, 'run', 'report', '--store', r.url, '--once-per', '10s']
    if kind == 'fail-hold': args += ['--min-hold', '5s']
    if kind == 'away': args += ['--retry', '15s']
    args += ['--', 'sh', '-c', job]
    if kind == 'away': r.stop()
    t0 = time.time(); out = [None]*10
    def one(i):
        time.sleep(random.uniform(0, 2))
        p = subprocess.run(args, env={'HOME': homes[i], 'PATH': os.environ['PATH']}, capture_output=True, text=True)
        out[i] = (p.returncode, p.stderr.strip())
    ts = [threading.Thread(target=one, args=(i,)) for i in range(10)]
    for t in ts: t.start()
    if kind == 'away': time.sleep(max(0, 4 - (time.time()-t0))); r.start()
    for t in ts: t.join()
    lines = open(log).read().split('\n')[:-1] if os.path.exists(log) else []
    runs = sum('begin' in l for l in lines)
    alone = all(('begin' in l) == (k % 2 == 0) for k, l in enumerate(lines))
    st = sorted(o[0] for o in out)
    print(f'night {n}{" fails" if fails else ""}: {runs} runs, {"one at a time" if alone else "AT ONCE"}; statuses {st}', flush=True)
    if not fails and runs != 1: bad += 1
    if any(o[0] not in (0,1,75) for o in out): print([o for o in out if o[0] not in (0,1,75)])
    time.sleep(max(0, 15 - (time.time()-t0)))
print(kind, 'bad nights:', bad); r.stop()
