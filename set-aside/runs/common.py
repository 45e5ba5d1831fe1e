import os, subprocess, socket, tempfile, time, sys, signal
HERD = os.environ.get('HERDLOCK', './build/release/src/cli/herdlock')
def free_port():
    s = socket.socket(); s.bind(('127.0.0.1', 0)); p = s.getsockname()[1]; s.close(); return p
class Redis:
    def __init__(self, port=None):
        self.port = port or free_port(); self.dir = tempfile.mkdtemp(); self.proc = None
    def start(self):
        self.proc = subprocess.Popen(['redis-server','--port',str(self.port),'--bind','127.0.0.1','--save','','--dir',self.dir,'--daemonize','no'], stdout=subprocess.DEVNULL)
        while self.cli('PING').strip() != 'PONG': time.sleep(0.01)
        return self
    def stop(self):
        self.proc.kill(); self.proc.wait()
    def cli(self, *a):
        return subprocess.run(['redis-cli','-p',str(self.port),*a], capture_output=True, text=True).stdout
    @property
    def url(self): return f'redis://127.0.0.1:{self.port}'
