import json,subprocess,threading,re,os,time
exec(open('~/faults/thirty.py').read().split('jobs, missing')[0])
todo={'tests/fault/new_connection_test.cpp':'fault/fault_tests','tests/e2e/doctor_sql_test.cpp':'e2e/doctor_tests','tests/e2e/schema_choice_test.cpp':'e2e/doctor_tests'}
def go(f,p):
    names=listed(p); l=[n for k,s,t in touched[f] for n in names if re.match(r"^(\w+/)?"+s+r"\."+t+r"(/.*)?$",n)]
    ok=ran=0; bad=[]; b=time.time()
    for i in range(30):
        r=subprocess.run([f"{B}/{p}","--gtest_color=no","--gtest_filter="+":".join(l)],cwd=os.path.dirname(f"{B}/{p}"),stdin=subprocess.DEVNULL,stdout=subprocess.PIPE,stderr=subprocess.STDOUT,text=True)
        ok+=len(re.findall(r"^\[       OK \] ",r.stdout,re.M)); ran+=len(re.findall(r"^\[ RUN      \] ",r.stdout,re.M))
        if r.returncode: bad.append(i); open(f'~/faults/thirty/fresh-{os.path.basename(f)}-{i}.log','w').write(r.stdout)
    print(f, len(l), 'tests x 30:', ok, 'of', ran, 'bad', bad, f'{time.time()-b:.0f} s', flush=True)
ts=[threading.Thread(target=go,args=a) for a in todo.items()]
[t.start() for t in ts]; [t.join() for t in ts]
