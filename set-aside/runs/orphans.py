# 1,500 sleepers; runs of 60 s with orphans at 100/s then 500/s (each run both halves), then 20 SIGTERMs
from common import *
sleepers = subprocess.Popen(['sh','-c','i=0; while [ $i -lt 1500 ]; do sleep 3000 & i=$((i+1)); done; wait'], start_new_session=True)
time.sleep(8)
r = Redis().start()
src = '''
#include <unistd.h>
#include <signal.h>
#include <stdlib.h>
#include <stdio.h>
#include <time.h>
#include <sys/wait.h>
/* storm RATE SECONDS FILE: RATE orphans a second; at SIGTERM writes the time to FILE and ends. */
static char const* file; 
static void term(int s){(void)s; struct timespec t; clock_gettime(CLOCK_REALTIME,&t); FILE*f=fopen(file,"w"); fprintf(f,"%ld.%09ld",(long)t.tv_sec,t.tv_nsec); fclose(f); _exit(0);}
int main(int c,char**v){ int rate=atoi(v[1]); double secs=atof(v[2]); file=v[3]; signal(SIGTERM,term);
 struct timespec a,n; clock_gettime(CLOCK_MONOTONIC,&a); long made=0;
 for(;;){ clock_gettime(CLOCK_MONOTONIC,&n); double e=(n.tv_sec-a.tv_sec)+(n.tv_nsec-a.tv_nsec)/1e9; if(e>secs) break;
  long due=(long)(e*rate); while(made<due){ pid_t p=fork(); if(p==0){ signal(SIGTERM,SIG_DFL); if(fork()==0){ usleep(20000); _exit(0);} _exit(0);} waitpid(p,0,0); made++; }
  usleep(2000);} printf("%ld orphans\\n",made); return 0;}
'''
d = tempfile.mkdtemp(); open(d+'/s.c','w').write(src)
subprocess.check_call(['gcc','-O1','-o',d+'/storm',d+'/s.c'])
for rate in (100, 500):
    p = subprocess.run([HERD,'run','storm','--ttl','10s','--verbose','--store',r.url,'--',d+'/storm',str(rate),'60',d+'/x'],capture_output=True,text=True)
    print(rate,'a second: status',p.returncode,p.stdout.strip(),'|',p.stderr.strip().replace('\n',' / '),flush=True)
lat=[]
for i in range(20):
    f=f'{d}/t{i}'
    p = subprocess.Popen([HERD,'run','storm','--ttl','10s','--store',r.url,'--',d+'/storm','500','30',f],stdout=subprocess.DEVNULL,stderr=subprocess.PIPE,text=True)
    time.sleep(5); t=time.time(); p.send_signal(signal.SIGTERM); p.wait(40)
    got=float(open(f).read()) if os.path.exists(f) else None
    lat.append(got-t if got else 99); print(i, f'{lat[-1]*1000:.1f} ms', 'status', p.returncode, flush=True)
lat.sort(); print(f'reached {sum(l<90 for l in lat)} of 20, median {lat[9]*1000:.1f} ms, p95 {lat[18]*1000:.1f} ms, slowest {lat[-1]*1000:.1f} ms')
os.killpg(sleepers.pid, signal.SIGKILL); r.stop()
