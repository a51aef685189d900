#!/bin/bash
# weir scan --submodules: submodules of submodules in every form that git gives them, what is missing of them, and what
# would lead elsewhere. Each repository has a token in a file that is called as it is.
set -euo pipefail
# shellcheck source=tests/e2e/scan_lib.sh
source "$(dirname "$0")/scan_lib.sh"
need_tools jq git
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null GIT_ALLOW_PROTOCOL=file
export GIT_AUTHOR_NAME=A GIT_AUTHOR_EMAIL=a@x GIT_COMMITTER_NAME=C GIT_COMMITTER_EMAIL=c@x

tree
for name in one two three four; do
    git init -q -b main $name
    echo "token of $name = \"$pat\"" >$name/$name.txt
    git -C $name add .
    git -C $name commit -qm $name
done
contain() { # repository, its submodule, and where
    git -C "$1" submodule --quiet add "$PWD/$2" "$3" 2>/dev/null
    git -C "$1" commit -qm "$3"
}
contain three four deep/four
contain two three nested/three
git init -q -b main super
contain super one lib/one
contain super two two
git -C super submodule --quiet update --init --recursive 2>/dev/null

copy() { # a copy of it, to be changed
    rm -rf s "$XDG_STATE_HOME"
    cp -a super s
}
# name, status, places, a pattern for all gaps; the repository. Who finds what first is chance: three times.
finds() {
    for _ in 1 2 3; do
        run "$WEIR" scan --history=only --json --submodules "$5"
        # shellcheck disable=SC2053 # it is a pattern
        if [[ $status == "$2" && $(places | tr '\n' ' ') == "$3" && $(gaps) == $4 ]]; then
            pass "$1"
        else
            fail "$1" "$(said)"
        fi
    done
}
all='s/lib/one/one.txt s/two/nested/three/deep/four/four.txt s/two/nested/three/three.txt s/two/two.txt '
kept=s/.git/modules/two
nested=$kept/modules/nested/three

# --- forms ---

copy
finds 'submodules of submodules' 1 "$all" '' s
finds 'from the folder of the repository' 1 "$all" '' s/.git
git -C s submodule --quiet deinit -f two
finds 'one that is not checked out' 1 \
    "$nested/modules/deep/four/four.txt $nested/three.txt $kept/two.txt s/lib/one/one.txt " '' s
copy
git -C s/two submodule --quiet deinit -f nested/three
finds 'one of a submodule that is not' 1 \
    "$nested/modules/deep/four/four.txt $nested/three.txt s/lib/one/one.txt s/two/two.txt " '' s
copy
rm s/two/nested/three/.git
finds 'one whose file .git is gone' 1 \
    "$nested/modules/deep/four/four.txt $nested/three.txt s/lib/one/one.txt s/two/two.txt " '' s

rm -rf s
git clone -q one s
inside() { # repository, submodule, and where: with its folder .git there, as git of old has it
    rm -rf "${1:?}/$3"
    git clone -q "$2" "$1/$3"
    git -C "$1" add "$3" 2>/dev/null
    git -C "$1" commit -qm "$3" >/dev/null 2>&1 || true
}
inside s one lib/one
inside s two two
inside s/two three nested/three
inside s/two/nested/three four deep/four
run "$WEIR" scan --history=only --json --submodules s
is 'with their folders .git in them' "$status $(places | grep -c 'two/two\|three/three\|four/four') $(gaps)" '1 3 '
rm -rf s/two/nested/three/.git
run "$WEIR" scan --history=only --json --submodules s
is 'one of which is gone' "$status $(gaps)" \
    "1 s/two/: cannot read all of the history of: a submodule is not initialised, so the histories are not here: 'nested/three'"

rm -rf s
git -C super worktree add -q ../s 2>/dev/null
there=$PWD/super/.git/modules
finds 'of a linked working tree: those of the repository' 1 "$(printf '%s ' "$there"/lib/one/one.txt \
    "$there"/two/modules/nested/three/{modules/deep/four/four.txt,three.txt} "$there"/two/two.txt)" '' s
git -C s submodule --quiet update --init --recursive 2>/dev/null
run "$WEIR" scan --history=only --json --submodules s
is 'and its own' "$status $(places | grep -c '^s/') $(places | grep -c "^$there/") $(gaps)" '1 4 4 '
git -C super worktree remove --force ../s

# --- what is missing of them ---

copy
rm -rf "$kept"
finds 'a repository that is gone' 1 's/lib/one/one.txt ' "*'s/two' cannot be used: *'../.git/modules/two'*" s
copy
rm -rf "$nested"
finds 'one of a submodule is told once, by that' 1 's/lib/one/one.txt s/two/two.txt ' \
    "s/two/: *'s/two/nested/three' cannot be used: *modules/nested/three'*" s
is 'which is one gap' "$(gaps | wc -l)" 1

# --- what would lead elsewhere ---

mkdir elsewhere
cp -a one elsewhere/victim
copy
rm -rf s/.git/modules
ln -s ../../elsewhere s/.git/modules
run "$WEIR" scan --history=only --json --submodules s
is 'modules/ is a symlink' "$status $(places) $(gaps | grep -c "'s/.git/modules' is a symlink, which is not followed")" '3  1'
copy
rm -rf s/.git/modules/two/modules
ln -s ../../../../elsewhere s/.git/modules/two/modules
run "$WEIR" scan --history=only --json --submodules s
is 'that of a submodule' "$(places | tr '\n' ' ')$(gaps | grep -c "'$kept/modules' is a symlink, which is not followed")" \
    's/lib/one/one.txt s/two/two.txt 1'
copy
git -C s submodule --quiet deinit -f lib/one
mv s/.git/modules/lib/one elsewhere/one
ln -s ../../../../elsewhere/one s/.git/modules/lib/one
run "$WEIR" scan --history=only --json --submodules s
is 'a symlink below it' "$(places | grep -c one.txt) $(gaps | grep -c "a submodule is not initialised.*: 'lib/one'")" '0 1'
copy
rm -rf s/two
ln -s ../elsewhere/victim s/two
run "$WEIR" scan --history=only --json --submodules s
is 'a symlink in the place of a submodule' \
    "$(places | grep -c victim) $(gaps | grep -c "'s/two': a symlink leads there, which is not followed")" '0 1'
is 'whose repository is scanned' "$(places | grep -c "^$kept/two.txt")" 1
copy
printf '[submodule "../../elsewhere/victim"]\n\tpath = ../elsewhere/victim\n\turl = /x\n[submodule "x"]\n\tpath = %s\n' \
    "$PWD/elsewhere/victim" >s/.gitmodules
finds 'what .gitmodules says leads nowhere' 1 "$all" '' s
copy
echo 'gitdir: ../.git' >s/two/.git
finds 'a submodule that is the repository itself' 1 \
    "$nested/modules/deep/four/four.txt $nested/three.txt $kept/two.txt s/lib/one/one.txt " '' s
rm -rf s
cp -a one s
mkdir s/.git/worktrees
ln -s ../../../elsewhere s/.git/worktrees/w
finds 'a working tree by a symlink' 1 's/one.txt ' "*'worktrees/w': a symlink that is not followed" s
rm -r s/.git/worktrees
ln -s ../../elsewhere s/.git/worktrees
finds 'all of them by one' 1 's/one.txt ' "*'s/.git/worktrees' is a symlink, which is not followed*" s

finish
