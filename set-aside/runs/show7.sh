#!/bin/bash
# Issue 42, Shows 7: the hit path of b94f156 beside that of today's tree (., build/release,
# which is to be built). Nothing else should run on the machine meanwhile.
#
#     show7.sh                 old / new / old again in turns, nine rounds, on a redis-server of its own:
#                              a table of medians and ratios (some four minutes, behind the builds)
#     show7.sh instructions    instructions of the process for each call, by callgrind, old and new
#
# The comparison is one-sided: "within" is NO where the new one is slower by more than that.
#
# ROUNDS=9: of the three. INNER=5: rounds of one run, whose medians it prints. PIN=1: the server on
# CPU 0, the programs on CPU 1.
set -euo pipefail

main=.; old=.; here=set-aside/runs
rounds=${ROUNDS:-9}; inner=${INNER:-5}
boost=$main/build/deps/boost/usr/include

# ---------------------------------------------------------------------------- the two libraries
[[ -e $old/CMakePresets.json ]] || git -C "$main" worktree add --detach "$old" b94f156
[[ $(git -C "$old" rev-parse HEAD) == $(git -C "$main" rev-parse b94f156) ]] ||
  { echo "$old is not at b94f156" >&2; exit 1; }
(
  cd "$old"
  export CCACHE_BASEDIR=$old
  [[ -f build/release/build.ninja ]] || cmake --preset release \
    -DHERDLOCK_TESTS=OFF -DHERDLOCK_CLI=OFF -DHERDLOCK_BENCH=OFF -DHERDLOCK_EXAMPLES=OFF \
    -DHERDLOCK_INSTALL=OFF -DHERDLOCK_C_LIBRARY=OFF -DHERDLOCK_MYSQL_ORIGIN=OFF \
    -DHERDLOCK_MYSQL=OFF -DHERDLOCK_POSTGRES=OFF -DHERDLOCK_ZOOKEEPER=OFF -DHERDLOCK_ETCD=OFF \
    -DHERDLOCK_BOOST_INCLUDE_DIR="$boost"
  cmake --build build/release -j2
)
[[ -f $main/build/release/src/libherdlock.a ]] || { echo "build $main/build/release first" >&2; exit 1; }
if [[ -n $(find "$main/src" "$main/include" \( -name '*.cpp' -o -name '*.hpp' -o -name '*.lua' \) \
             -newer "$main/build/release/src/libherdlock_core.a" -print -quit) ]]; then
  echo "note: sources are newer than $main/build/release/src/libherdlock_core.a" >&2
fi

compile() {  # TREE OUT
  local lib=$1/build/release/src clients=(-lsqlite3 -lssl -lcrypto)
  [[ ! -f $lib/libherdlock_mysql.a ]] || clients+=(-lmariadb)
  [[ ! -f $lib/libherdlock_postgres.a ]] || clients+=(-lpq)
  [[ ! -f $lib/libherdlock_zookeeper.a ]] || clients+=(-lzookeeper_mt)
  g++ -O2 -DNDEBUG -fPIE -fvisibility=hidden -std=c++20 -Wall -Wextra -DBOOST_ASIO_NO_DEPRECATED \
    -I"$1/include" -isystem "$boost" "$here/show7.cpp" -o "$2" \
    -Wl,--start-group "$lib"/libherdlock*.a -Wl,--end-group "${clients[@]}"
}
compile "$old" "$here/show7.old"
compile "$main" "$here/show7.new"

# ----------------------------------------------------------------------------------- the server
on_server=(); on_client=()
[[ -z ${PIN:-} ]] || { on_server=(taskset -c 0); on_client=(taskset -c 1); }
dir=$(mktemp -d)
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
"${on_server[@]}" redis-server --port "$port" --bind 127.0.0.1 --save '' --appendonly no --dir "$dir" \
  > "$dir/log" 2>&1 &
server=$!
trap 'kill $server; wait $server 2>/dev/null || true; rm -rf "$dir"' EXIT
for _ in $(seq 100); do
  [[ $(redis-cli -p "$port" ping 2>/dev/null) == PONG ]] && break
  sleep 0.1
done
[[ $(redis-cli -p "$port" ping) == PONG ]]
url=redis://127.0.0.1:$port

# ----------------------------------------------------------------------------------- instructions
if [[ ${1:-} == instructions ]]; then
  counted() {  # PROGRAM ROUNDS CASE: "instructions calls"
    local told
    told=$(valgrind --tool=callgrind --callgrind-out-file=/dev/null "$1" "$url" "$2" "$3" 2>&1)
    echo "$(sed -nE 's/.*Collected : ([0-9]+).*/\1/p' <<< "$told")" \
         "$(sed -nE 's/^([0-9]+) calls$/\1/p' <<< "$told")"
  }
  echo '| | old | new | new/old |'; echo '|---|---|---|---|'
  for case in near memory redis blocking; do
    for which in old new; do
      read -r few few_calls <<< "$(counted "$here/show7.$which" 1 "$case")"
      read -r many many_calls <<< "$(counted "$here/show7.$which" 3 "$case")"
      declare "per_$which=$(python3 -c "print(f'{($many - $few) / ($many_calls - $few_calls):.0f}')")"
    done
    python3 -c "print(f'| $case | {$per_old:,} | {$per_new:,} | {$per_new / $per_old:.3f} |')"
  done
  exit
fi

# ------------------------------------------------------------------------------------------ time
declare -A program=([old]=$here/show7.old [new]=$here/show7.new [again]=$here/show7.old)
echo "load before: $(cut -d' ' -f1-3 /proc/loadavg)"
for ((i = 0; i < rounds; ++i)); do
  case $((i % 3)) in
    0) turns=(old new again) ;;
    1) turns=(new again old) ;;
    2) turns=(again old new) ;;
  esac
  for one in "${turns[@]}"; do
    line=$("${on_client[@]}" "${program[$one]}" "$url" "$inner")
    echo "$line" >> "$dir/$one"
    echo "round $((i + 1)) $one: $line" >&2
  done
done
echo "load after: $(cut -d' ' -f1-3 /proc/loadavg)"
for one in old new again; do cp "$dir/$one" "$here/show7.$one.txt"; done
python3 - "$dir" <<'END'
import statistics, sys
names = ['near hit', '`memory:`, coroutine', 'Redis, coroutine, processor', 'Redis, coroutine, wall',
         'Redis, blocking, wall']
runs = {one: [[float(x) for x in line.split()] for line in open(f'{sys.argv[1]}/{one}')]
        for one in ('old', 'new', 'again')}
print('medians, ns; "pairs": the median of the rounds\' ratios; within: 2 % or the spread of old against old\n')
print('| | old | new | old again | new/old | old again/old | pairs new/old | pairs again/old | within |')
print('|---|---|---|---|---|---|---|---|---|')
for i, name in enumerate(names):
    of = {one: [line[i] for line in lines] for one, lines in runs.items()}
    mid = {one: statistics.median(all) for one, all in of.items()}
    pairs = {one: statistics.median(a / b for a, b in zip(of[one], of['old'])) for one in ('new', 'again')}
    new, again = mid['new'] / mid['old'], mid['again'] / mid['old']
    within = new - 1 <= max(0.02, abs(again - 1))
    shown = lambda x: f'{x:,.1f}' if x < 1000 else f'{x:,.0f}'
    print(f"| {name} | {shown(mid['old'])} | {shown(mid['new'])} | {shown(mid['again'])} | {new:.3f} | "
          f"{again:.3f} | {pairs['new']:.3f} | {pairs['again']:.3f} | {'yes' if within else 'NO'} |")
END
