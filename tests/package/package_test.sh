#!/usr/bin/env bash
# The Debian package, built, installed into a clean root, and used there:
#   package_test.sh BUILD_DIR SOURCE_DIR WORK_DIR CPACK C_COMPILER
set -euo pipefail
build=$1 source=$2 work=$3 cpack=$4 cc=$5
export PATH="$PATH:/usr/sbin:/sbin"

fail() { echo "package_test: $*" >&2; exit 1; }

rm -rf "$work" && mkdir -p "$work"
"$cpack" --config "$build/CPackConfig.cmake" -G DEB -B "$work" > "$work/cpack.log" 2>&1 ||
  { cat "$work/cpack.log"; fail "cpack failed"; }
deb=$(find "$work" -maxdepth 1 -name '*.deb')
[[ -f $deb ]] || fail "there is no package"
dpkg-deb --field "$deb" Depends | grep -q libsqlite3 || fail "it does not know what it needs"

# A root with nothing in it but dpkg's own records; without the rights for that, its files alone.
root=$work/root
mkdir -p "$root"/var/lib/dpkg/{info,updates} && : > "$root/var/lib/dpkg/status"
if [[ $(id -u) == 0 ]]; then
  dpkg --root="$root" --force-depends --force-script-chrootless -i "$deb" > "$work/dpkg.log" 2>&1 ||
    { cat "$work/dpkg.log"; fail "dpkg does not install it"; }
  dpkg-query --admindir="$root/var/lib/dpkg" -W herdlock > /dev/null || fail "dpkg lost it"
else
  dpkg-deb -x "$deb" "$root"
fi

herdlock=$root/usr/bin/herdlock
"$herdlock" --version | grep -q '^herdlock ' || fail "the command does not run"
HERDLOCK_STORE="sqlite:$work/store.db" "$herdlock" run job -- true || fail "it takes no lock"

man=$root/usr/share/man/man1/herdlock.1
"$herdlock" help --man | cmp - "$man" || fail "the manual page is not the command's"
if command -v groff > /dev/null; then
  groff -man -Tutf8 -ww -z "$man" 2> "$work/groff.log" || true
  [[ ! -s $work/groff.log ]] || { cat "$work/groff.log"; fail "roff has complaints"; }
fi

completion=$root/usr/share/bash-completion/completions/herdlock
answer=$(bash -c 'source "$1"; COMP_WORDS=(herdlock demo st) COMP_CWORD=2; _herdlock
                  echo "${COMPREPLY[*]}"' - "$completion")
[[ $answer == stampede ]] || fail "completion says '$answer'"
for file in zsh/vendor-completions/_herdlock fish/vendor_completions.d/herdlock.fish; do
  [[ -s $root/usr/share/$file ]] || fail "$file is missing"
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
echo "the package works as installed: $(basename "$deb")"
