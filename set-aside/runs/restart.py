from common import *
n = int(sys.argv[1]); worst = []
for i in range(n):
    r = Redis().start(); f = tempfile.mktemp()
    p = subprocess.Popen([HERD,'run','x','--ttl','60s','--store',r.url,'--','sh','-c',f'echo up > {f}; exec sleep 1000'], stderr=subprocess.PIPE, text=True)
    while not os.path.exists(f): time.sleep(0.02)
    time.sleep(1); r.stop(); time.sleep(1); r.start(); t = time.time()
    try: p.wait(30); took = time.time()-t
    except subprocess.TimeoutExpired: took = 999; p.kill()
    worst.append(took); print(f'{i}: {took:.2f} s status {p.returncode}', flush=True); r.stop()
print('<= 2 s:', sum(t <= 2 for t in worst), 'of', n, 'slowest', f'{max(worst):.2f}')
