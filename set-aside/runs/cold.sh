#!/bin/bash
. ~/env.sh
export CCACHE_DISABLE=1 PATH=${PATH#*build/deps/bin:}
unset CCACHE_BASEDIR
run() { cd ~/cold-$1; s=$SECONDS; /usr/bin/time -o ~/log/cold-$1-$2.time -f '%e s wall %U s user %S s sys' ./dev $2 > ~/log/cold-$1-$2 2>&1 < /dev/null; echo "$(date +%T) $1 $2: rc $? $(cat ~/log/cold-$1-$2.time)" >> ~/log/cold; }
run old demo; run new demo; run old test; run new test
