#!/bin/bash
# weir scan on git: names of refs, those that lead nowhere too, and what refs lead to, with git as the measure.
set -euo pipefail
# shellcheck source=tests/e2e/scan_lib.sh
source "$(dirname "$0")/scan_lib.sh"
need_tools jq git
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null
export GIT_AUTHOR_NAME=A GIT_AUTHOR_EMAIL=a@x GIT_COMMITTER_NAME=C GIT_COMMITTER_EMAIL=c@x
export GIT_AUTHOR_DATE='2024-05-01T12:30:00+02:00' GIT_COMMITTER_DATE='2024-05-01T12:30:00+02:00'

begin() { # options of git init; then in the repository, with two commits
    tree
    rm -rf "$XDG_STATE_HOME"
    git init -q -b main "$@" r
    cd r
    echo one >f
    git add f
    git commit -qm one
    echo two >g
    git add g
    git commit -qm two
}
found() { # path, object, commit and by of each place; tokens by their first letter
    jq -r '.findings[].places[] | "\(.path) \(.object // "")|\(.commit // "")|\(.by // "")"' "$dir/out" |
        sed "s/$pat/PAT/g; s/$other/OTHER/g" | sort
}
# name, status, what is found; options. The same by a first scan, by a second one, and without a state.
finds() {
    local way
    for way in first second --no-state --full-scan; do
        case $way in
        --*) run "$WEIR" scan --history=only --json --show-secrets "$way" "${@:4}" . ;;
        *) run "$WEIR" scan --history=only --json --show-secrets "${@:4}" . ;;
        esac
        is "$1 ($way)" "$status $(found)" "$2 $3"
    done
}

# --- names that lead somewhere ---

begin
head=$(git rev-parse HEAD) wanted=
for part in custom/deep heads heads/x notes remotes/o replace tags; do
    git update-ref "refs/$part/$pat" "$head" 2>/dev/null
    wanted+="${wanted:+$'\n'}ref:refs/$part/PAT $head||"
done
finds 'the names of refs of every kind' 1 "$wanted"
git pack-refs --all 2>/dev/null
finds 'packed ones' 1 "$wanted"

# --- names that lead nowhere ---

begin
head=$(git rev-parse HEAD)
git symbolic-ref HEAD "refs/heads/$pat"
finds 'a branch that has no commit' 1 'ref:refs/heads/PAT ||'
git symbolic-ref HEAD refs/heads/main
finds 'when HEAD is elsewhere there is none' 0 ''
git symbolic-ref "refs/heads/$pat" "refs/heads/x/$other"
finds 'a symbolic ref to nothing, and what it says' 1 "ref:refs/heads/PAT ||
ref:refs/heads/x/OTHER ||"
run "$WEIR" scan --history=only --json .
is 'which is no gap' "$status $(summary complete)" '1 true'
is 'and hidden' "$(grep -c "${pat:8:20}\|${other:8:20}" "$dir/out")" 0
run "$WEIR" scan --json --refs=main .
is 'not in a part of the history' "$status" 0
git branch "x/$other"
finds 'that is there by now' 1 "ref:refs/heads/PAT $head||
ref:refs/heads/x/OTHER $head||"

# One name in each.
while IFS='|' read -r name command; do
    begin
    cd .git
    eval "$command"
    cd ..
    finds "a name: $name" 1 'ref:refs/heads/PAT ||'
done <<'EOF'
a file of noise|echo noise >refs/heads/$pat
an empty file|: >refs/heads/$pat
no id|printf '%040d' 0 >refs/heads/$pat
a file that is too large|head -c 70000 /dev/zero >refs/heads/$pat
a pipe|mkfifo refs/heads/$pat
a link out of it|ln -s /etc/passwd refs/heads/$pat
a ref to what is no name|echo "ref: a b" >refs/heads/$pat
the name that another says|echo "ref: refs/heads/$pat" >refs/heads/one
the name that a link says|ln -s refs/heads/$pat refs/heads/one
a loop|echo "ref: refs/heads/$pat" >refs/heads/$pat
EOF
for name in "$pat~1" "a..$pat" "$pat." "$(printf '\001')$pat"; do
    begin
    git rev-parse HEAD >".git/refs/heads/$name"
    run "$WEIR" scan --history=only --json --show-secrets .
    is 'a name that git does not allow' "$status $(jq '.findings | length' "$dir/out") $(summary complete)" '1 1 false'
    rm ".git/refs/heads/$name"
    echo "$(git rev-parse HEAD) refs/heads/$name" >>.git/packed-refs
    run "$WEIR" scan --history=only --json --show-secrets .
    is 'the same in packed-refs' "$status $(jq '.findings | length' "$dir/out") $(summary complete)" '1 1 false'
done
begin
printf '# pack-refs with: peeled fully-peeled sorted \n%s refs/heads/packed\nabc refs/heads/%s\n' "$(git rev-parse HEAD)" "$pat" >.git/packed-refs
finds 'a line of packed-refs that is none' 1 'ref:abc refs/heads/PAT ||'
begin
echo 1111111111111111111111111111111111111111 >".git/refs/heads/$pat"
finds 'one that leads to what is missing' 1 'ref:refs/heads/PAT 1111111111111111111111111111111111111111||'
begin
git worktree add -q --detach ../linked
git -C ../linked checkout -q --orphan "$pat"
finds 'a branch without a commit in a linked working tree' 1 'ref:refs/heads/PAT ||'
cd ../linked
finds 'the same from there' 1 'ref:refs/heads/PAT ||'

begin
blob=$(echo "token = \"$pat\";" | git hash-object -w --stdin)
finds 'what nothing leads to' 1 "blob:$blob $blob||unreachable"
echo noise >.git/refs/heads/broken
finds 'a broken ref may have led there' 1 "blob:$blob $blob||unknown"
rm .git/refs/heads/broken
echo noise >.git/packed-refs
finds 'or a line of packed-refs' 1 "blob:$blob $blob||unknown"

# --- working trees: refs of their own, and what each of them has for a while ---

alone() { # name: a commit that nothing leads to, with a token in a file of that name
    git commit-tree -m "$1" "$(printf '100644 blob %s\t%s\n' \
        "$(echo "$1 = \"$pat\"" | git hash-object -w --stdin)" "$1" | git mktree)"
}
begin
git worktree add -q --detach ../one
git worktree add -q --detach ../two
git update-ref refs/bisect/good "$(alone main)"
for name in bisect worktree rewritten; do git -C ../one update-ref refs/$name/x "$(alone $name)"; done
git -C ../two checkout -q "$(alone head)"
rm -rf .git/worktrees/two/logs .git/logs
alone fetched >.git/FETCH_HEAD
alone orig >.git/worktrees/one/ORIG_HEAD
mkdir -p .git/worktrees/two/logs
printf '%040d %s A <a@x> 1700000000 +0000\tx\n' 0 "$(alone log)" >.git/worktrees/two/logs/HEAD
alone nothing >/dev/null
for tree in . ../one ../two; do
    run "$WEIR" scan --history=only --json "$tree"
    is "who leads where is the same from $tree" \
        "$(jq -r '.findings[].places[] | "\(.path | sub(".*/"; "")) \(.by // "")"' "$dir/out" | sort | tr '\n' ',')" \
        'bisect ,fetched reflog,head ,log reflog,main ,nothing unreachable,orig reflog,rewritten ,worktree ,'
    run "$WEIR" scan --reachable --json "$tree"
    is "what is reachable from $tree" "$(places | sed 's,.*/,,' | sort | tr '\n' ' ')" 'bisect head main rewritten worktree '
done

# --- replacements: refs like others, which take nobody's place ---

first_of() { # what git says of a blob: the first commit that has it
    git --no-replace-objects log --all --find-object="$1" --reverse --format=%H | sed -n 1p
}
begin
blob=$(echo "token = \"$pat\";" | git hash-object -w --stdin)
replaced=$(git rev-parse HEAD:f)
git replace "$replaced" "$blob"
finds 'a blob that takes the place of another' 1 "blob:$blob $blob||refs/replace/$replaced"
run "$WEIR" scan --history=only --json .
is 'with the whole name of the ref' "$(found)" "blob:$blob $blob||refs/replace/$replaced"
finds 'it is reachable' 1 "blob:$blob $blob||refs/replace/$replaced" --reachable
is 'as for git' "$(git fsck --unreachable --no-reflogs 2>/dev/null)" ''
git replace -d "$replaced" >/dev/null
finds 'when it is not any more, nothing leads to it' 1 "blob:$blob $blob||unreachable"

begin
echo "token = \"$pat\";" >secret
git add secret
tree=$(git write-tree)
git reset -q --hard
blob=$(git rev-parse "$tree:secret") replaced=$(git rev-parse 'HEAD^{tree}')
git replace "$replaced" "$tree"
finds 'a tree' 1 "secret $blob||refs/replace/$replaced"
git replace -d "$replaced" >/dev/null
commit=$(git commit-tree -p HEAD~ -m two "$tree")
git replace HEAD "$commit"
finds 'a commit' 1 "secret $blob|$commit|"
is 'as git says' "$(first_of "$blob")" "$commit"
finds 'in what is reachable' 1 "secret $blob|$commit|" --reachable

# A commit with another message in its place: both brought the same.
for later in 0 1; do
    begin
    echo "token = \"$pat\";" >secret
    git add secret
    git commit -qm secret
    real=$(git rev-parse HEAD) blob=$(git rev-parse HEAD:secret)
    git replace HEAD "$(git commit-tree -p HEAD~ -m other 'HEAD^{tree}')"
    if ((later)); then git commit -q --allow-empty -m later; fi
    finds "of the same second the commit itself is named, $later later" 1 "secret $blob|$real|"
    finds "in what is reachable, $later later" 1 "secret $blob|$real|" --reachable
    git commit-graph write --reachable 2>/dev/null
    finds "with a commit-graph, $later later" 1 "secret $blob|$real|"
done

# --- the name of a tag ---

begin
head=$(git rev-parse HEAD)
git tag "$pat"
finds 'the name of a tag is told once' 1 "ref:refs/tags/PAT $head||"
git tag -d "$pat" >/dev/null
git tag -a -m message "$pat"
tag=$(git rev-parse "refs/tags/$pat")
finds 'that of an annotated one twice: as a ref, and where the tag says it' 1 "ref:refs/tags/PAT $tag||
tag-header:$tag $tag||"
git tag -d "$pat" >/dev/null
git tag -a -m "message $pat" "$pat"
tag=$(git rev-parse "refs/tags/$pat")
run "$WEIR" scan --history=only --json .
is 'in the name by which a message is told it is hidden, and not told' \
    "$(jq -c '[.findings[].places[] | select(.path | startswith("tag:")) | [.line, .column, .in_name]]' "$dir/out")" '[[1,9,null]]'
is 'which no report shows' "$(grep -c "${pat:8:20}" "$dir/out")" 0

# --- what leads to a tag ---

begin
git tag -a -m "key $pat" v1
tag=$(git rev-parse v1)
finds 'a tag' 1 "tag:v1 $tag||"
git tag -a -m outer v2 v1 2>/dev/null
git tag -d v1 >/dev/null
finds 'a tag of which there is another tag' 1 "tag:v1 $tag||"
git pack-refs --all
finds 'which is packed' 1 "tag:v1 $tag||"
git tag -d v2 >/dev/null
finds 'nothing leads to it any more' 1 "tag:v1 $tag||unreachable"
is 'as for git' "$(git fsck --unreachable --no-reflogs 2>/dev/null | grep -c "$tag")" 1
echo "$tag" >.git/FETCH_HEAD
finds 'but what was fetched' 1 "tag:v1 $tag||reflog"
echo noise >.git/refs/tags/v1
finds 'or a ref that is broken' 1 "tag:v1 $tag||unknown"

# --- what a branch has is told with a commit of that branch, whatever logs and stashes still know ---

at() { GIT_COMMITTER_DATE="$1 +0000" git "${@:2}"; }
begin
echo "k = $pat" >s
git add s
at 1600000000 commit -qm first
dead=$(git rev-parse HEAD)
at 1600000100 commit -q --amend -m second
id=$(git rev-parse HEAD:s)
finds 'a commit that was amended' 1 "s $id|$(git rev-parse HEAD)|"
git reset -q --hard HEAD~
finds 'when no branch has it, the older one, and how it is reached' 1 "s $id|$dead|reflog"
begin
echo "k = $pat" >s
git add s
at 1600000000 stash -q
git stash apply -q
at 1600000100 commit -qam second
id=$(git rev-parse HEAD:s)
finds 'a stash that was committed' 1 "s $id|$(git rev-parse HEAD)|"
begin
echo "k = $pat" >s
git add s
git commit -qm third
commit=$(git rev-parse HEAD)
printf '[extend]\nuseDefault = true\n[allowlist]\ncommits = ["%s"]\n' "$commit" >"$dir/commits.toml"
finds 'what an allowed commit has is not told as staged' 0 '' --config="$dir/commits.toml"
git rm -q --cached s
git commit -qm fourth
git add s
cp s t
git add t
finds 'what is staged elsewhere is' 1 "t $(git rev-parse :t)||staged" --config="$dir/commits.toml"

finish
