#!/usr/bin/env bash
# Installs into a folder of its own and uses what is there as an outsider would. Prints TAP.
# BUILD: the build folder; SOURCE: the source tree; CC, CXX: the compilers.
set -euo pipefail

number=0
failures=0
check() { # text, command...
    local text=$1 said
    shift
    number=$((number + 1))
    if said=$("$@" 2>&1); then
        echo "ok $number - $text"
    else
        failures=$((failures + 1))
        echo "not ok $number - $text"
        printf '%s\n' "$said" | sed 's/^/# /' | head -n 40
    fi
}

top=$(mktemp -d)
trap 'rm -rf "$top"' EXIT
prefix=$top/usr/local
destdir_install() {
    DESTDIR=$top meson install -C "$BUILD" --no-rebuild
}
check "meson install" destdir_install

pc=$(find "$top" -name weir.pc | head -n 1)
export PKG_CONFIG_PATH=${pc%/*}
export PKG_CONFIG_SYSROOT_DIR=$top
libdir=$(dirname "$(find "$top" -name 'libweir.so.0' | head -n 1)")
export LD_LIBRARY_PATH=$libdir

check "pkg-config knows the version of the project" \
    test "$(pkg-config --modversion weir)" = "$("$prefix/bin/weir" --version | awk '{print $2}')"
check "the shared library has its soversion" test -e "$libdir/libweir.so.0"
check "the static library is there" test -e "$libdir/libweir.a"

outside=$SOURCE/tests/install/outside.c
flags=(-Wall -Wextra -Wpedantic -Werror)
build_shared_c() {
    # shellcheck disable=SC2046
    "$CC" -std=c11 "${flags[@]}" "$outside" $(pkg-config --cflags --libs weir) -o "$top/shared-c"
}
build_static_c() {
    # shellcheck disable=SC2046
    "$CC" -std=c11 "${flags[@]}" $(pkg-config --cflags weir) "$outside" "$libdir/libweir.a" \
        -pthread -o "$top/static-c"
}
build_shared_cxx() {
    # shellcheck disable=SC2046
    "$CXX" -std=c++17 "${flags[@]}" -x c++ "$outside" -x none \
        $(pkg-config --cflags --libs weir) -o "$top/shared-cxx"
}
uses_shared() {
    ldd "$top/$1" | grep "libweir.so.0 => $libdir" >"$top/used"
}
check "an outside program in C builds against the shared library" build_shared_c
check "it uses the installed one" uses_shared shared-c
check "it runs" "$top/shared-c"
check "an outside program in C builds against the static library" build_static_c
check "it runs too" "$top/static-c"
check "an outside program in C++ builds against the shared library" build_shared_cxx
check "it runs as well" "$top/shared-cxx"

# Each call in the file is one that the compiler must not let pass.
dropped=$SOURCE/tests/install/dropped.c
compile_dropped() { # compiler and flags...
    # shellcheck disable=SC2046
    "$@" "${flags[@]}" $(pkg-config --cflags weir) -c "$dropped" -o "$top/dropped.o"
}
warns_of_dropped() { # compiler and flags...
    local said calls
    calls=$(grep -c '^ *ANSWER(weir_' "$dropped")
    compile_dropped "$@" || return 1
    ! said=$(compile_dropped "$@" -DDROPS -Werror=unused-result 2>&1) || return 1
    printf '%s\n' "$said"
    test "$calls" -gt 0 && test "$(grep -c 'Werror=unused-result' <<<"$said")" -eq "$calls"
}
check "the compiler warns of a permit that is dropped" warns_of_dropped "$CC" -std=c11
check "the compiler warns of it in C++ too" warns_of_dropped "$CXX" -std=c++17 -x c++

# Exactly what the headers promise leaves the library, and the map says the same.
declared() {
    cat "$prefix"/include/weir/*.h | tr '\n' ' ' | grep -oE 'WEIR_API[^;{]*;' |
        grep -oE '\bweir_[a-z0-9_]+ *(\(|\[|;)' | grep -vE '_cancel_hook|^weir_[a-z_]+ *$' |
        sed -E 's/ *[([;]$//' | sort -u
}
exported() {
    nm -D --defined-only "$libdir/libweir.so.0" | awk '$2 != "A" {sub(/@.*/, "", $3); print $3}' |
        sort -u
}
mapped() {
    grep -oE '^ +weir_[a-z0-9_]+;' "$SOURCE/src/core/libweir.map" | tr -d ' ;' | sort -u
}
check "what is exported is what the map lists" diff <(exported) <(mapped)
undeclared() {
    local symbol missing=0
    for symbol in $(exported); do
        grep -qhE "\b$symbol\b" "$prefix"/include/weir/*.h || { echo "$symbol"; missing=1; }
    done
    return $missing
}
check "every exported symbol is declared in an installed header" undeclared
unexported() {
    comm -23 <(declared) <(exported) | grep . && return 1
    return 0
}
check "every declared function is exported" unexported

man=$(find "$top" -type d -name man3 | head -n 1)
inlined() {
    grep -hE '^static inline ' "$prefix"/include/weir/*.h | grep -oE '\bweir_[a-z0-9_]+\(' |
        tr -d '(' | sort -u
}
has_page() {
    local symbol missing=0
    for symbol in $(exported) $(inlined); do
        [ "$symbol" = weir_histogram_time_bounds_ns ] && continue
        [ -e "$man/$symbol.3" ] || { echo "no manual page for $symbol"; missing=1; }
    done
    return $missing
}
check "every public function has a manual page" has_page
check "man pages of the program are there" test -e "${man%3}1/weir.1"
check "the sample of a configuration is there, and loads" \
    "$prefix/bin/weir" config check "$prefix/share/weir/weir.toml"
check "and that of the index" \
    "$prefix/bin/weir" config check --service index "$prefix/share/weir/weir-index.toml"
units=$prefix/lib/systemd/system
# The program is not where the unit will look for it; a copy of the unit says where it is here.
units_hold() { # service
    command -v systemd-analyze >"$top/which" || return 0
    mkdir -p "$top/units"
    sed "s|^ExecStart=[^ ]*|ExecStart=$prefix/bin/weir|; s|^Documentation=.*||" \
        "$units/weir-$1.service" >"$top/units/weir-$1.service"
    cp "$units/weir-$1.socket" "$top/units/"
    local said
    said=$(SYSTEMD_UNIT_PATH="$top/units:" systemd-analyze verify --man=no \
        "$top/units/weir-$1.service" "$top/units/weir-$1.socket" 2>&1) || {
        printf '%s\n' "$said"
        return 1
    }
    ! grep "weir-$1" <<<"$said"
}
units_start_it() { # what the unit starts is a command of the program, with options that it has
    local command
    command=$(sed -n 's/^ExecStart=//p' "$units/weir-$1.service")
    [[ $command == "/usr/local/bin/weir $1 --data "* ]] &&
        "$prefix/bin/weir" "$1" --help | grep -e '--data'
}
for service in storage index; do
    check "the units of systemd of $service are there" \
        test -e "$units/weir-$service.service" -a -e "$units/weir-$service.socket"
    check "they start the installed program: $service" units_start_it "$service"
    check "systemd finds nothing wrong with them: $service" units_hold "$service"
done
check "bash completion is there" test -e "$prefix/share/bash-completion/completions/weir"
check "zsh completion is there" test -e "$prefix/share/zsh/site-functions/_weir"
check "fish completion is there" test -e "$prefix/share/fish/vendor_completions.d/weir.fish"

reads_archives() {
    mkdir "$top/scanned"
    echo 'a text' | gzip >"$top/scanned/text.gz"
    XDG_CACHE_HOME=$top "$prefix/bin/weir" scan --summary "$top/scanned" 2>&1 |
        grep 'archives: 1, with 1 member$'
}
check "what reads archives is in libexec" test -x "$prefix/libexec/weir/weir-unpack"
check "the program finds it there" reads_archives

# grep reads to the end, so that whoever writes to it is not ended by its leaving.
hardened() {
    readelf -hW "$prefix/bin/weir" | grep 'Type:.*DYN' &&
        readelf -dW "$prefix/bin/weir" | grep -E 'FLAGS_1.*NOW.*PIE' &&
        readelf -lW "$prefix/bin/weir" | grep GNU_RELRO &&
        readelf -lW "$prefix/bin/weir" | grep GNU_STACK | grep -v RWE &&
        nm -D "$prefix/bin/weir" | grep __stack_chk_fail &&
        nm -D "$prefix/bin/weir" | grep '_chk@'
}
check "the program is hardened: PIE, full RELRO, stack protector, fortified" hardened

echo "1..$number"
exit $((failures > 0))
