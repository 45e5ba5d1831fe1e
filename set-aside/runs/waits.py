# PostgreSQL table, 8 waits of a stopped process: when is the next served? Beside Redis.
from common import *
import json
def once(name, url):
    holder = subprocess.Popen([HERD,'run','x','--ttl','30s','--store',url,'--','sleep','1000'])
    time.sleep(1.5)
    w = subprocess.Popen(['set-aside/runs/waits', url], stdout=subprocess.PIPE, text=True); w.stdout.readline()
    def waiters():
        o = subprocess.run([HERD,'show','x','--json','--store',url],capture_output=True,text=True).stdout
        try: return json.loads(o)
        except Exception: return o
    time.sleep(2)
    print(name, 'before:', json.dumps(waiters())[:300])
    w.send_signal(signal.SIGSTOP)
    n = subprocess.Popen([HERD,'run','x','--ttl','30s','--store',url,'--','sh','-c','date +%s.%N'], stdout=subprocess.PIPE, text=True)
    time.sleep(1.5)
    t = time.time(); holder.terminate(); holder.wait(); released = time.time()
    out = n.communicate(timeout=120)[0]
    print(f'{name}: released after {released-t:.2f} s, the next one works {float(out)-released:.2f} s behind that', flush=True)
    w.kill(); w.wait()
def pg():
    d = tempfile.mkdtemp(); os.chmod(d, 0o777); port = free_port()
    b = os.path.dirname(subprocess.run(['readlink','-f',subprocess.run(['which','initdb'],capture_output=True,text=True).stdout.strip()],capture_output=True,text=True).stdout.strip())
    print(b)
    def as_pg(cmd): return ['setpriv','--reuid=65534','--regid=65534','--clear-groups','sh','-c',cmd]
    subprocess.check_call(as_pg(f'{b}/initdb -A trust -U postgres -D {d}/data >/dev/null'))
    p = subprocess.Popen(as_pg(f'exec {b}/postgres -D {d}/data -p {port} -c listen_addresses=127.0.0.1 -k {d} -c fsync=off >/dev/null 2>&1'))
    time.sleep(4)
    return p, f'postgres://postgres@127.0.0.1:{port}/postgres?mode=table'
r = Redis().start(); p, url = pg()
for i in range(3):
    once('redis', r.url); once('postgres table', url)
r.stop(); p.terminate()
