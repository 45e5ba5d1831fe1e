#!/bin/bash
# Compiles show1 and show3 against build/asan and build/release, which are to be built already:
#
#     set-aside/runs/build.sh [asan|release …]     (both without an argument; DRY=1 prints the commands)
#
# The flags are those of a test program (asan) and an example (release) in build.ninja, without the
# precompiled header.
set -euo pipefail
here=set-aside/runs; main=.
declare -A model=([asan]='build tests/unit/CMakeFiles/election_threads_tests\.dir/'
                  [release]='build examples/CMakeFiles/example_2_guarded_cache\.dir/')
declare -A linked=([asan]='build tests/unit/election_threads_tests:'
                   [release]='build examples/example_2_guarded_cache:')

# flags_of TREE PATTERN NAME: the variable of the first block of build.ninja that begins so
flags_of() {
  awk -v pattern="^$2" -v name="  $3 = " '
    $0 ~ pattern { inside = 1 }
    inside && index($0, name) == 1 { print substr($0, length(name) + 1); exit }
    /^$/ { inside = 0 }' "$main/build/$1/build.ninja"
}

compile() {  # TREE NAME
  local tree=$1 name=$2 dir=$main/build/$1 compile_flags link_flags archives clients=()
  compile_flags=$(flags_of "$tree" "${model[$tree]}" FLAGS |
    sed -E 's/-Winvalid-pch//; s/-include [^ ]+//')
  [[ $compile_flags == *-std=c++20* ]] || { echo "no flags in $dir/build.ninja" >&2; exit 1; }
  compile_flags+=" $(flags_of "$tree" "${model[$tree]}" DEFINES)"
  link_flags=$(flags_of "$tree" "${linked[$tree]}" LINK_FLAGS)
  # -lname, or /usr/lib/…/libname.so, but no test library
  read -ra clients <<< "$(flags_of "$tree" "${linked[$tree]}" LINK_LIBRARIES | tr -s ' ' '\n' |
    grep -E '^-l|\.so(\.|$)' | tr '\n' ' ')"
  archives=$(ls "$dir"/src/libherdlock*.a)
  set -- nice -n 19 g++ $compile_flags -Wshadow \
    -I"$main/include" -isystem "$main/build/deps/boost/usr/include" \
    "$here/$name.cpp" -o "$here/$name.$tree" $link_flags \
    -Wl,--start-group $archives -Wl,--end-group "${clients[@]}"
  if [[ -n ${DRY:-} ]]; then echo "$@"; return; fi
  "$@"
  echo "$here/$name.$tree"
}

trees=("$@"); [[ $# -gt 0 ]] || trees=(asan release)
for tree in "${trees[@]}"; do
  for name in show1 show3; do compile "$tree" "$name"; done
done
cat <<'END'
To run (as the preset does):
  export ASAN_OPTIONS=halt_on_error=1:abort_on_error=0:detect_leaks=1:strict_string_checks=1:detect_stack_use_after_return=1:check_initialization_order=1
  export LSAN_OPTIONS=suppressions=./tests/lsan.suppressions UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
  set-aside/runs/show1.asan memory:; set-aside/runs/show1.asan redis://127.0.0.1:PORT
  set-aside/runs/show3.asan redis://127.0.0.1:PORT; set-aside/runs/show3.release memory:
END
