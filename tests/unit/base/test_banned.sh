#!/bin/sh
# What banned.h bans does not compile, and what it does not ban does.
set -eu
: "${CC:=cc}" "${BANNED:?the path of banned.h}"

number=0
check() { # name, wanted status (0 compiles, 1 does not), source
    number=$((number + 1))
    printf '%s\n' '#include <stdio.h>' '#include <stdlib.h>' '#include <string.h>' \
        '#include <time.h>' "#include \"$BANNED\"" "$3" |
        $CC -std=c17 -D_GNU_SOURCE -fsyntax-only -x c - 2>/dev/null && status=0 || status=1
    if [ "$status" -eq "$2" ]; then
        echo "ok $number - $1"
    else
        echo "not ok $number - $1"
    fi
}

check 'harmless code compiles' 0 'int f(char *p) { return snprintf(p, 2, "a"); }'
for call in 'strcpy(p, "a")' 'strcat(p, "a")' 'strncpy(p, "a", 1)' 'sprintf(p, "a")' 'atoi(p)' \
    'strtok(p, "a")' 'alloca(1)' 'sscanf(p, "a")' 'localtime(0)' 'mktemp(p)' 'system(p)'; do
    check "${call%%(*} does not compile" 1 "void f(char *p) { (void)$call; }"
done
echo "1..$number"
