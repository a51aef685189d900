#!/bin/bash
# weir scan against git, on random histories: it looks at the objects that git cat-file lists, all of them and
# each once, finds what is in them, and names the commit that git log --find-object has first.
set -euo pipefail
# shellcheck source=tests/e2e/scan_lib.sh
source "$(dirname "$0")/scan_lib.sh"
need_tools jq git python3
here=$(cd "$(dirname "$0")" && pwd)
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null
export GIT_AUTHOR_NAME=A GIT_AUTHOR_EMAIL=a@x GIT_COMMITTER_NAME=C GIT_COMMITTER_EMAIL=c@x
seed=${WEIR_SEED:-${WEIR_LONG:+$RANDOM}}
seed=${seed:-7}
commits=500
note "WEIR_SEED=$seed"

agree() { # name, options; in the repository
    run "$WEIR" scan --history=only --json --show-secrets --no-state "${@:2}" .
    local said
    said=$("$here/git_oracle.py" check "$dir/out" 2>&1 | head -20) || true
    if [[ $status == 1 && -z $said ]]; then pass "$1"; else fail "$1" "status $status, seed $seed
$said
$err"; fi
}
import() { # number of commits, an offset
    "$here/git_oracle.py" make "$seed-${2:-0}" "$1" "${2:-0}" >"$dir/stream"
    git -c fastimport.unpackLimit="${unpack:-0}" fast-import --quiet --force <"$dir/stream"
}
random() { # options of git init
    tree
    git init -q -b main "$@" r
    cd r
}

random
import $commits
agree 'as fast-import wrote it'
agree 'with 8 threads' --threads=8
agree 'with one' --threads=1
agree 'in full' --full-scan
git repack -adfq --depth=250 --window=20
agree 'one pack of long chains'
agree 'with little memory' --delta-cache=8M
git commit-graph write --reachable 2>/dev/null
agree 'with a commit-graph'
git repack -adfq --depth=0
agree 'one pack without deltas'

git init -q -b main ../loose
mv .git/objects/pack/*.pack "$dir/whole.pack"
cd ../loose
git unpack-objects -q <"$dir/whole.pack"
git -C ../r for-each-ref --format='create %(refname) %(objectname)' | git update-ref --stdin
agree 'loose objects alone'
git repack -aq
agree 'loose and packed: each object once'
rm "$dir/whole.pack"

random
for part in 100 200 300 400; do
    import $((commits / 5)) $part
done
agree 'several packs'
git multi-pack-index write 2>/dev/null
agree 'several packs of one index'
cp -r .git ../copy.git
git -C ../copy.git config core.bare true
git -C ../copy.git repack -adq
cp ../copy.git/objects/pack/*.pack ../copy.git/objects/pack/*.idx .git/objects/pack
agree 'the same objects in two packs'

cd ..
git clone -q --mirror --shared r borrower
cd borrower
agree 'all of it borrowed'
import $((commits / 5)) 900
agree 'borrowed, and its own'
git repack -dq
git init -q --bare ../third
pwd | sed 's,$,/objects,' >../third/objects/info/alternates
cd ../third
import 50 1000
agree 'borrowed from one that borrows'

random --object-format=sha256
import $((commits / 5))
agree 'SHA-256'
git repack -adq
import $((commits / 5)) 100
git multi-pack-index write 2>/dev/null
agree 'SHA-256, several packs of one index'

# One thread walks the history in one piece, several in slices.
random
python3 - "$seed" "$pat" <<'END' | git fast-import --quiet --force
import random, sys
made, token = random.Random(sys.argv[1]), sys.argv[2]
for n in range(2600):
    print(f"commit refs/heads/main\ncommitter A <a@x> {1500000000 + n // 3} +0000\ndata 1\nc")
    for _ in range(made.choice([1, 1, 2])):
        text = "\n".join(str(made.random()) for _ in range(9))
        if made.random() < 0.05:
            text += f'\nkey{made.randrange(9)} = "{token}"'
        name = f"d{made.randrange(5)}/e{made.randrange(4)}/f{made.randrange(9)}"
        print(f"M 100644 inline {name}\ndata {len(text)}\n{text}")
        if made.random() < 0.3:
            print(f"C {name} d{made.randrange(5)}/copy{made.randrange(9)}")
    print()
END
scan() { # options
    run "$WEIR" scan --history=only --json --show-secrets --no-state "$@" .
    told=$(jq -S '.findings | sort_by(.secret, .rule)' "$dir/out")
}
scan --threads=1
whole=$told
is 'there is something to find' "$status $(($(jq '[.findings[].places[]] | length' "$dir/out") > 20))" '1 1'
for threads in 2 3 8; do
    scan --threads=$threads
    is "origins found by $threads threads are those of one" "$(md5sum <<<"$told")" "$(md5sum <<<"$whole")"
done

finish
