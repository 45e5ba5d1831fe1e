#!/usr/bin/env bash
# Takes each mend out of TREE (default .), builds what its test needs, runs the test, and
# puts the mend back.
#
#     run.sh [TREE [NAME…]]
#
# list.tsv    NAME, targets, program below build/release (or ! and a command), filter, what is out
# result.tsv  NAME, built (yes, no, -), failed, ran, verdict (red, partly, GREEN), note
#
# A name that is in result.tsv is passed over; to run one again, take its line out. What does not
# apply, or has no such test in TREE, is told and not recorded. Logs are in logs/. However this
# ends, TREE is as it was: also after a SIGKILL, by the next start. Nothing else may use TREE
# meanwhile.
set -u
readonly here=set-aside/faults limit=300 patience=3600

tree=$(readlink -f "${1:-.}") || exit 64
shift $(($# > 0 ? 1 : 0))
wanted=" $* "
cd "$tree" || exit 64
export CCACHE_BASEDIR=$tree
unset GTEST_FILTER GTEST_TOTAL_SHARDS GTEST_SHARD_INDEX
exec </dev/null
mkdir -p "$here/logs"
exec 9>"$here/lock"
flock -n 9 || { echo "another run.sh is under way" >&2; exit 75; }
readonly journal=$here/applied  # which patch is in which tree

patch="" child="" scratch=""
files_of() { git apply --numstat "$1" | cut -f3; }

# What a test has left behind: it has the mark of this run in its environment. By its number only.
end_what_is_left() {
  local mark=$1 signal one
  for signal in TERM KILL; do
    local found=""
    for one in /proc/[0-9]*; do
      grep -qzFx "MUTANTS43=$mark" "$one/environ" 2>/dev/null || continue
      kill "-$signal" "${one#/proc/}" 2>/dev/null && found=yes
    done
    [[ $found ]] || return 0
    sleep 1
  done
}

restore() {
  [[ $patch ]] || return 0
  if ! git apply -R "$patch" 2>/dev/null; then
    # The tree was clean when it was applied, so what is there is what HEAD has, and the patch.
    files_of "$patch" | while read -r file; do git checkout -q HEAD -- "$file"; done
  fi
  if [[ $scratch && -d $scratch/mtime ]]; then
    (cd "$scratch/mtime" && find . -type f) | while read -r file; do
      touch -r "$scratch/mtime/$file" "$file"
    done
  fi
  patch=""
  rm -f "$journal"
}

at_end() {
  local status=$?
  trap '' INT TERM HUP
  if [[ $child ]]; then
    kill -TERM -- "-$child" 2>/dev/null
    sleep 2
    kill -KILL -- "-$child" 2>/dev/null
  fi
  end_what_is_left "$$"
  restore
  [[ $scratch ]] && rm -rf "$scratch"
  exit "$status"
}
trap at_end EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
trap 'exit 129' HUP

# In a session of its own, so that it has no terminal, and can be ended with all of its group.
run() {
  setsid "$@" 3<&- 9>&- &
  child=$!
  wait "$child"
  local status=$?
  child=""
  return "$status"
}

is_clean() { git update-index -q --refresh >/dev/null; git diff --quiet HEAD --; }

if [[ -s $journal ]]; then  # a former run was killed
  IFS=$'\t' read -r patch in <"$journal"
  if [[ $in != "$tree" ]]; then
    echo "a patch is still in $in: start with that tree first" >&2
    patch=""
    exit 65
  fi
  if is_clean; then patch="" && rm -f "$journal"; else restore; fi
fi
if ! is_clean; then
  echo "$tree is not clean" >&2
  exit 65
fi

record() { printf '%s\t%s\t%s\t%s\t%s\t%s\n' "$@" | tee -a "$here/result.tsv"; }

touch "$here/result.tsv"
all_targets=""
while IFS=$'\t' read -r name targets program filter _ <&3; do
  [[ -z $name || $name == \#* ]] && continue
  [[ $wanted == "  " || $wanted == *" $name "* ]] || continue
  cut -f1 "$here/result.tsv" | grep -qxF "$name" && continue
  if ! git apply --check "$here/$name.patch" 2>"$here/logs/$name.apply"; then
    echo "$name: does not apply to $tree (logs/$name.apply)" >&2
    continue
  fi
  scratch=$(mktemp -d)
  if [[ $program == !* ]]; then  # nothing is built: it is as if the files had never changed
    mkdir "$scratch/mtime"
    files_of "$here/$name.patch" | while read -r file; do
      mkdir -p "$scratch/mtime/$(dirname "$file")"
      touch -r "$file" "$scratch/mtime/$file"
    done
  fi
  printf '%s\t%s\n' "$here/$name.patch" "$tree" >"$journal"
  patch=$here/$name.patch
  git apply "$patch" || { echo "$name: git apply failed" >&2; exit 70; }

  log=$here/logs/$name.log
  if [[ $program == !* ]]; then
    run env MUTANTS43=$$ TMPDIR="$scratch" timeout -k 10 "$limit" bash -c "${program#!}" \
      >"$log" 2>&1
    status=$?
    restore
    if [[ $status == 0 ]]; then
      record "$name" - 0 1 GREEN "-"
    else
      record "$name" - 1 1 red "status $status"
    fi
    rm -rf "$scratch"
    scratch=""
    continue
  fi

  all_targets+=" $targets"
  # shellcheck disable=SC2086
  if ! run timeout -k 10 "$patience" cmake --build build/release --target $targets -j2 \
    >"$here/logs/$name.build" 2>&1; then
    restore
    record "$name" no 0 0 - "see logs/$name.build"
    rm -rf "$scratch"
    scratch=""
    continue
  fi
  began=$SECONDS
  run env -C "build/release/$(dirname "$program")" MUTANTS43=$$ timeout -k 10 "$limit" \
    "$tree/build/release/$program" --gtest_color=no --gtest_filter="$filter" >"$log" 2>&1
  status=$?
  end_what_is_left "$$"
  restore
  rm -rf "$scratch"
  scratch=""
  count() { grep -acE "$1" "$log"; }
  ran=$(count '^\[ RUN      \] ')
  passed=$(count '^\[       OK \] ')
  skipped=$(count '^\[  SKIPPED \] .* \([0-9]+ ms\)$')
  # The one that was under way when the program crashed, or its time was over, has failed.
  failed=$((ran - passed - skipped))
  note="$((SECONDS - began)) s"
  case $status in
    0 | 1) ;;
    124 | 137) note+=", time is over" ;;
    *) note+=", status $status (134 abort, 139 SIGSEGV)" ;;
  esac
  if ((ran == 0)); then
    echo "$name: no such test in $tree (status $status; $log)" >&2
  elif ((failed == 0)); then
    record "$name" yes "$failed" "$ran" GREEN "$note"
  elif ((failed < ran)); then
    record "$name" yes "$failed" "$ran" partly "$note; passed: $(sed -nE \
      's/^\[       OK \] ([^ ]+) .*/\1/p' "$log" | tr '\n' ' ')"
  else
    record "$name" yes "$failed" "$ran" red "$note"
  fi
done 3<"$here/list.tsv"

if [[ $all_targets ]]; then  # as it was
  # shellcheck disable=SC2046,SC2086
  run cmake --build build/release --target $(printf '%s\n' $all_targets | sort -u) -j2 \
    >"$here/logs/rebuild.build" 2>&1 || echo "the last build failed: logs/rebuild.build" >&2
fi
is_clean || { echo "$tree is not clean" >&2; exit 70; }
