#!/bin/bash
# weir scan on what is staged: in whichever working tree of a repository, under names that no tree has, and
# beside other places of the same bytes.
set -euo pipefail
# shellcheck source=tests/e2e/scan_lib.sh
source "$(dirname "$0")/scan_lib.sh"
need_tools jq git
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null
export GIT_AUTHOR_NAME=A GIT_AUTHOR_EMAIL=a@example.org GIT_COMMITTER_NAME=C GIT_COMMITTER_EMAIL=c@example.org

begin() { # folder
    git init -q -b main "$1"
    git -C "$1" commit -qm first --allow-empty
}
found() { # name, options and paths; places with how they are reached, one on a line, are the last argument
    local name=$1 wanted=${*: -1}
    run "$WEIR" scan --history=only --json "${@:2:$#-2}"
    is "$name" "$(jq -r '.findings[] | .rule as $rule | .places[] | "\($rule) \(.path) \(.by)"' "$dir/out" |
        sort)" "$wanted"
    is "$name: complete" "$(summary complete)" true
}

# --- working trees ---

tree
begin main
git -C main worktree add -q ../linked -b linked
git -C main worktree add -q ../third -b third
mkdir linked/conf
echo zz123456 >linked/conf/app.cfg
git -C linked add -A
printf '[[rules]]\nid = "zz"\nregex = "zz[0-9]{6}"\npath = "[.]cfg$"\n' >rules.toml
for given in linked main third 'main linked' 'linked main' 'third main linked'; do
    # shellcheck disable=SC2086 # these are several
    found "staged in a linked working tree, of $given" --no-state --config=rules.toml $given \
        "zz ${given%% *}/conf/app.cfg staged"
    # shellcheck disable=SC2086
    found "the same of what is reachable, of $given" --reachable --config=rules.toml $given \
        "zz ${given%% *}/conf/app.cfg staged"
done
found 'remembered' --config=rules.toml main 'zz main/conf/app.cfg staged'
found 'and known' --config=rules.toml main 'zz main/conf/app.cfg staged'
git -C linked mv conf/app.cfg conf/other.cfg
found 'until the index of the other working tree is another' --config=rules.toml main \
    'zz main/conf/other.cfg staged'
git -C linked rm -qf --cached conf/other.cfg
echo zz123456 >main/own.cfg
git -C main add own.cfg
found 'staged in the main one, of a linked one' --no-state --config=rules.toml third 'zz third/own.cfg staged'
echo broken >"main/.git/worktrees/linked/index"
run "$WEIR" scan --history=only --json --no-state main
has_gap 'an index of another working tree that is broken is told' "*the index of 'worktrees/linked'*"

# --- names ---

for what in certs/server.p12 "$pat.txt" "a/$pat/b/c.txt"; do
    rule=github-pat
    [[ $what != *.p12 ]] || rule=pkcs12-file
    tree
    begin r
    cd r
    mkdir -p "$(dirname "$what")"
    echo x >"$what"
    git add -A
    rm "$what"
    for options in --no-state --reachable '--no-state --full-scan' '' ''; do
        # shellcheck disable=SC2086
        found "$rule of a staged name $options" --show-secrets $options . "$rule $what staged"
    done
    run "$WEIR" scan --json --show-secrets .
    check "$rule of a staged name, with files" grep -qxF "$what" <(places)
    git reset -q
    found "$rule of what is not staged any more" --no-state . ''
done

tree
begin r
cd r
mkdir a
echo x >a/a.bin
git add -A
git commit -qm second
cp a/a.bin b.p12
git add -A
rm b.p12
found 'what a commit has under another name' --no-state . 'pkcs12-file b.p12 staged'
git add -N a/a.bin
git mv a/a.bin a/c.bin
echo x >later.p12
git add -N later.p12
found 'a name that is only announced is not staged' --no-state . 'pkcs12-file b.p12 staged'

# --- how it is reached ---

tree
begin r
cd r
# With a rule for any name, lost commits are gone through for all that there is.
printf '[[rules]]\nid = "%s"\n%s\n' token 'regex = "ghp_[0-9a-zA-Z]{36}"' key 'path = "secret.*key"' >../rules.toml
printf '[[allowlists]]\npaths = ["^b/"]\n' >>../rules.toml
mkdir b c
echo "token=$pat" >b/x
git add -A
git commit -qm second
cp b/x c/x
git add -A
git commit -qm third
git reset -q --hard HEAD~1
git reflog expire --expire=now --all
rm -f .git/ORIG_HEAD
found 'staged where it is allowed, and in a commit that is lost where it is not' --no-state \
    --config=../rules.toml . 'token c/x unreachable'

finish
