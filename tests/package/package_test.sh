#!/usr/bin/env bash
# The Debian packages, built, installed into a clean root, and used there:
#   package_test.sh BUILD_DIR SOURCE_DIR WORK_DIR CPACK C_COMPILER
set -euo pipefail
build=$1 source=$2 work=$3 cpack=$4 cc=$5
export PATH="$PATH:/usr/sbin:/sbin"

fail() { echo "package_test: $*" >&2; exit 1; }

rm -rf "$work" && mkdir -p "$work"
"$cpack" --config "$build/CPackConfig.cmake" -G DEB -B "$work" > "$work/cpack.log" 2>&1 ||
  { cat "$work/cpack.log"; fail "cpack failed"; }
deb=$(find "$work" -maxdepth 1 -name 'herdlock_*.deb')
lab=$(find "$work" -maxdepth 1 -name 'herdlock-lab_*.deb')
[[ -f $deb && -f $lab ]] || fail "there are not two packages"
for one in "$deb" "$lab"; do
  dpkg-deb --field "$one" Depends | grep -q libsqlite3 || fail "$one does not know what it needs"
done
contents=$(dpkg-deb --contents "$deb")
[[ $contents != *herdlock-lab* ]] || fail "the first one has the lab, too"

# A root with nothing in it but dpkg's own records; without the rights for that, its files alone.
root=$work/root
mkdir -p "$root"/var/lib/dpkg/{info,updates} && : > "$root/var/lib/dpkg/status"
if [[ $(id -u) == 0 ]]; then
  dpkg --root="$root" --force-depends --force-script-chrootless -i "$deb" "$lab" \
    > "$work/dpkg.log" 2>&1 || { cat "$work/dpkg.log"; fail "dpkg does not install them"; }
  dpkg-query --admindir="$root/var/lib/dpkg" -W herdlock herdlock-lab > /dev/null ||
    fail "dpkg lost one of them"
else
  dpkg-deb -x "$deb" "$root"
  dpkg-deb -x "$lab" "$root"
fi

herdlock=$root/usr/bin/herdlock
"$herdlock" --version | grep -q '^herdlock ' || fail "the command does not run"
HERDLOCK_STORE="sqlite:$work/store.db" "$herdlock" run job -- true || fail "it takes no lock"

played=$("$root/usr/bin/herdlock-lab" soak --store "sqlite:$work/soak.db" --processes 1 \
  --threads 2 --hand-overs 20) || fail "the lab does not play: $played"

# first_word PROGRAM BEGINNING: what completion makes of it.
first_word() {
  bash -c 'source "$1"; COMP_WORDS=("$2" "$3") COMP_CWORD=1; "_${2//-/_}"
           echo "${COMPREPLY[*]}"' - "$root/usr/share/bash-completion/completions/$1" "$1" "$2"
}
[[ $(first_word herdlock doc) == doctor ]] || fail "completion of herdlock"
[[ $(first_word herdlock-lab stam) == stampede ]] || fail "completion of herdlock-lab"

for program in herdlock herdlock-lab; do
  man=$root/usr/share/man/man1/$program.1
  "$root/usr/bin/$program" help --man | cmp - "$man" || fail "the manual page is not $program's"
  if command -v groff > /dev/null; then
    groff -man -Tutf8 -ww -z "$man" 2> "$work/groff.log" || true
    [[ ! -s $work/groff.log ]] || { cat "$work/groff.log"; fail "roff has complaints"; }
  fi
  for file in zsh/vendor-completions/_$program fish/vendor_completions.d/$program.fish; do
    [[ -s $root/usr/share/$file ]] || fail "$file is missing"
  done
done

# From C, against the installed header and the library that a program loads.
"$cc" -std=c99 -Wall -Wextra -Werror -I "$root/usr/include" "$source/examples/5_c.c" \
  -L "$root/usr/lib" -lherdlock_c -o "$work/by_c"
LD_LIBRARY_PATH=$root/usr/lib "$work/by_c" | grep -q 'held: valid 1' || fail "C gets no lease"
if nm -D --defined-only "$root/usr/lib/libherdlock_c.so" | grep -v ' herdlock_'; then
  fail "the C library shows more than its functions"
fi
for file in include/herdlock/herdlock.hpp lib/libherdlock.a lib/pkgconfig/herdlock.pc \
  lib/cmake/herdlock/herdlockConfig.cmake; do
  [[ -s $root/usr/$file ]] || fail "$file is missing"
done
echo "the packages work as installed: $(basename "$deb"), $(basename "$lab")"
