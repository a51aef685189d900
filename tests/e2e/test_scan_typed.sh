#!/bin/bash
# Secrets that somebody types where none belongs: as a command, an option, its value, a path, the name of a
# rule. Each message, whoever says it, is tried with each secret, and shows none of them.
set -euo pipefail
# shellcheck source=tests/e2e/scan_lib.sh
source "$(dirname "$0")/scan_lib.sh"

# What is typed, and the part of it that must not be shown.
mapfile -t secrets <<END
$pat ${pat:12:16}
https://bob:hunter2@host.invalid/x hunter2
https://hunter2@host.invalid/x hunter2
ftp://bob:hunter2@host.invalid/x hunter2
https://bob:hun/ter2@host.invalid/x ter2
password=hunter2 hunter2
a_$pat.password=hunter2.txt hunter2
DB_PASSWD=correct-horse horse
api-key=hunter2 hunter2
api_key:hunter2 hunter2
PGPASSWORD=hunter2 hunter2
u:hunter2@host hunter2
//u:hunter2@h hunter2
END

# Where X is what is typed.
mapfile -t lines <<'END'
X
-- X
--X
help X
man X
completion X
errors X
devices X
devices --json X
copy X b
copy a none/X
copy --X a b
copy --jobs=X a b
scan --X
scan --X=y
scan -f X
scan --format=X
scan --max-memory=X
scan --decode-depth=X
scan --progress=X
scan -c X
scan -b X
scan --ignore-file=X
scan -f csv --files-from=X
scan -f csv --files-from=none/X
scan -o none/X .
scan --rule=X
scan -f csv -v X
scan -f csv none/X
rules X
rules list X
rules list ./X
rules show X
rules test X
rules test --config=X
rules lint X
rules compile none/X
END

tree
for line in "${lines[@]}"; do
    for typed in "${secrets[@]}"; do
        secret=${typed##* } typed=${typed% *}
        read -ra words <<<"${line//X/$typed}"
        run "$WEIR" "${words[@]}"
        name="$line: ${typed/"$secret"/***}"
        if [[ $status -eq 0 ]]; then
            fail "$name: it is not refused" "$(said)"
        elif [[ ! $err || $out$err == *"$secret"* ]]; then
            fail "$name" "$(said)"
        else
            pass "$name"
        fi
    done
done

# A report has names without what they call a secret, and URLs without their users.
for typed in "${secrets[@]}"; do
    run "$WEIR" scan "${typed% *}"
    if [[ $status -eq 0 || $out$err == *"${typed##* }"* ||
        ($typed == *://* && $out$err != *host.invalid*) ]]; then
        fail "the report: $typed" "$(said)"
    else
        pass "the report: $typed"
    fi
done

# What is no secret is shown as it was typed; names of a list, which are files, are whatever they look like.
printf '9ae0ea9e3c9c6e1b9b6252c8395efdc1c3a1b2c3\n\n%s\npassword=hunter2\n' "$pat" >list
printf 'a\r\n' >list-cr
printf '\357\273\277a\n' >list-mark
while IFS='|' read -r line wanted; do
    read -ra words <<<"$line"
    run "$WEIR" "${words[@]}"
    # shellcheck disable=SC2053 # it is a pattern
    if [[ $err == *$wanted* ]]; then pass "$line"; else fail "$line" "$(said)"; fi
done <<'TABLE'
scann|unknown command 'scann': did you mean 'scan'?
a-command-of-many-small-letters|unknown command 'a-command-of-many-small-letters'
scan --an-option-of-many-small-letters=1|unknown option '--an-option-of-many-small-letters'
scan --maxArchiveEntriesInAll|unknown option '--maxArchiveEntriesInAll'
scan -c none/WithManyWords/AndMore2/settings.toml|'none/WithManyWords/AndMore2/settings.toml'
copy none/WithManyWords/AndMore2/settings.toml x|'none/WithManyWords/AndMore2/settings.toml'
scan --max-memory=18446744073709551616KiB|'18446744073709551616KiB' is
scan -c https://host.invalid:80/@a/b|'https://host.invalid:80/@a/b'
scan -c none/format=json|'none/format=json'
scan -f csv none/9ae0ea9e3c9c6e1b9b6252c8395efdc1c3a1b2c3.txt|'none/9ae0ea9e3c9c6e1b9b6252c8395efdc1c3a1b2c3.txt'
scan -f csv libQt5WebEngineCore7x9k2.so.5|'libQt5WebEngineCore7x9k2.so.5'
scan -f csv 9ae0ea9e3c9c6e1b9b6252c8395efdc1c3a1b2c3|'[*][*][*][*]*'
scan -f csv --files-from=list|'9ae0ea9e3c9c6e1b9b6252c8395efdc1c3a1b2c3': no such file or directory (name 1 of the list)
scan -f csv --files-from=list|'password=[*][*][*][*][*][*][*]': no such file or directory (name 4 of the list)
scan -f csv --files-from=list|'ghp_[*]*': no such file or directory (name 3 of the list)
scan -f csv --files-from=list-cr|directory (name 1 of the list: it ends with CR; take those out of the list)
scan -f csv --files-from=list-mark|directory (name 1 of the list: it begins with a byte order mark; take that out of the list)
rules show no-such-rule-anywhere|no rule 'no-such-rule-anywhere'
TABLE

finish
