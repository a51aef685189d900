#!/bin/bash
# What docs/scan-hooks.md tells people to put into hooks and pipelines: each block of it is taken from the
# document, judged by the schema of its kind (as a package of npm has it; skipped without), and run as
# written, in a repository with a token in it and without. The pre-commit framework runs our definition.
set -euo pipefail
# shellcheck source=tests/e2e/scan_lib.sh
source "$(dirname "$0")/scan_lib.sh"
: "${ROOT:?the repository}" "${MODULES:?the folder of packages of npm}" "${CHECK_SARIF:?the path of check_sarif.py}"
here=$(cd "$(dirname "$0")" && pwd)
need_tools git jq python3

schemas=$MODULES/schemastore/schemas/json
export HOME=$dir/home PATH=$dir/bin:$PATH
export GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=$dir/home/gitconfig
unset GIT_DIR GIT_INDEX_FILE GIT_WORK_TREE
mkdir "$dir"/{home,bin,blocks}
ln -s "$WEIR" "$dir/bin/weir"
git config --global user.name Nobody
git config --global user.email nobody@example.org
git config --global init.defaultBranch main
job=ghs_8qZpN2vXc4RkT7mYw1LsB6hJd3FgE9u job=${job}A5oVr

repository() { # a new one, with one commit and nothing to be found
    rm -rf "$dir/work"
    git init -q "$dir/work"
    cd "$dir/work" || exit 1
    [[ ! -d $dir/template ]] || cp "$dir/template/.pre-commit-config.yaml" .
    printf 'nothing\n' >plain.txt
    git add .
    git commit -qm first >"$dir/said" 2>&1
}

plant() { # in a tracked file
    printf 'one\nkey = "%s"\n' "$pat" >a.py
    git add a.py
}

hides() { # name
    if grep -aqF -e "$pat" -e "${pat:6:30}" -e "$job" "$dir/out" "$dir/err"; then
        fail "$1: does not print the secret" "$(said)"
    else
        pass "$1: does not print the secret"
    fi
}

judged() { # name, schema, file
    local status=0
    "$ROOT/tests/schema.py" "$schemas/$2" "$3" >"$dir/said" 2>&1 || status=$?
    case $status in
    0) pass "$1: its schema takes it" ;;
    77) skip "$1: its schema takes it" "$(cat "$dir/said")" ;;
    *) fail "$1: its schema takes it" <"$dir/said" ;;
    esac
}

# --- the document ---

status=0
"$here/doc_blocks.py" "$ROOT/docs/scan-hooks.md" "$dir/blocks" >"$dir/said" 2>&1 || status=$?
[[ $status -ne 77 ]] || skip_all "$(cat "$dir/said")"
is 'blocks are taken from the document' "$status $(ls "$dir/blocks" | tr '\n' ' ')" \
    '0 1.sh 2.yaml 3.sh 3.yaml 4.sh 4.yaml 5.sh 5.yaml 6.sh 6.yaml 7.jq '
judged 'pre-commit configuration' pre-commit-config.json "$dir/blocks/2.yaml"
judged 'workflow with annotations' github-workflow.json "$dir/blocks/3.yaml"
judged 'workflow with SARIF' github-workflow.json "$dir/blocks/4.yaml"
gitlab=gitlab.com/gitlab-org/gitlab/-/raw/master/app/assets/javascripts/editor/schema/ci.json
judged 'GitLab job with JUnit' "$gitlab" "$dir/blocks/5.yaml"
judged 'GitLab job with a security report' "$gitlab" "$dir/blocks/6.yaml"
judged 'definition of hooks' pre-commit-hooks.json "$ROOT/.pre-commit-hooks.yaml"

# --- the hook of git ---

hook_cases() { # name: a commit with a token and one without
    repository
    plant
    run git commit -qm second
    is "$1: a commit with a token is refused" "$status $(git rev-list --count HEAD)" '1 1'
    is "$1: and its place told" "$(grep -c -e '^a.py$' -e '^  2:8 ' <<<"$out$err")" 2
    hides "$1"
    printf 'key = gone\n' >a.py
    run git commit -qm second
    is "$1: what is staged counts" "$status" 1
    git add a.py
    run git commit -qm second
    is "$1: without it the commit passes" "$status $(git rev-list --count HEAD)" '0 2'
    printf 'key = "%s" # weir:allow\n' "$pat" >a.py
    git add a.py
    run git commit -qm third
    is "$1: so does one that is allowed" "$status $(git rev-list --count HEAD)" '0 3'
    hides "$1: allowed"
}

mkdir "$dir/hooks"
cp "$dir/blocks/1.sh" "$dir/hooks/pre-commit"
chmod +x "$dir/hooks/pre-commit"
git config --global core.hooksPath "$dir/hooks"
hook_cases 'a hook for all repositories'
git config --global --unset core.hooksPath

# --- pipelines, with the token of the job where runners leave it ---

pipeline() { # number of the block
    run env CI_COMMIT_SHA="$(git rev-parse HEAD)" bash -eo pipefail "$dir/blocks/$1.sh"
}
checkout() { # clean or not
    repository
    [[ $1 != planted ]] || { plant && git commit -qm second; }
    git config http.https://github.com/.extraheader \
        "AUTHORIZATION: basic $(printf 'x-access-token:%s' "$job" | base64 -w0)"
    git remote add origin "https://gitlab-ci-token:$job@gitlab.example.org/a/b.git"
    cp "$dir/blocks/7.jq" gitlab.jq
}
wanted_of() { # the status, and the number of findings
    [[ $1 == planted ]] && echo 1 || echo 0
}
for kind in clean planted; do
    checkout $kind
    pipeline 3
    is "annotations, $kind" "$status $(grep -c '^::error file=a.py,line=2,endLine=2,col=8,endColumn=48,title=github-pat::' "$dir/out")" \
        "$(wanted_of $kind) $(wanted_of $kind)"
    hides "annotations, $kind"
    pipeline 4
    is "SARIF, $kind" "$status $(jq '.runs[0].results | length' weir.sarif)" "$(wanted_of $kind) $(wanted_of $kind)"
    if "$CHECK_SARIF" "$schemas/sarif-2.1.0.json" weir.sarif >"$dir/said" 2>&1; then
        pass "SARIF, $kind: is valid"
    else
        fail "SARIF, $kind: is valid" <"$dir/said"
    fi
    pipeline 5
    is "JUnit, $kind" "$status $(grep -c '<failure ' weir.xml)" "$(wanted_of $kind) $(wanted_of $kind)"
    pipeline 6
    is "security report, $kind" "$status $(jq -c '[.scan.status, [.vulnerabilities[].location | .file, .start_line]]' gl-secret-detection-report.json)" \
        "$([[ $kind == clean ]] && echo '0 ["success",[]]' || echo '1 ["success",["a.py",2]]')"
    if python3 "$here/check_gitlab.py" gl-secret-detection-report.json >"$dir/said" 2>&1; then
        pass "security report, $kind: GitLab takes it"
    else
        fail "security report, $kind: GitLab takes it" <"$dir/said"
    fi
done

# A secret twice in one file and in an archive that is broken: as many entries, and what is missing.
printf '%s\n%s\n' "$pat" "$pat" >twice
seq 9999 | gzip -c | head -c 900 >broken.gz
git add twice broken.gz
pipeline 6
is 'security report, incomplete' "$status $(jq -c '[.scan.status, (.scan.messages | length), (.vulnerabilities | length)]' gl-secret-detection-report.json)" \
    '1 ["failure",1,3]'
if python3 "$here/check_gitlab.py" gl-secret-detection-report.json >"$dir/said" 2>&1; then
    pass 'security report, incomplete: GitLab takes it'
else
    fail 'security report, incomplete: GitLab takes it' <"$dir/said"
fi

# --- the pre-commit framework ---

if ! command -v pre-commit >/dev/null; then
    skip 'the pre-commit framework runs our definition' "'pre-commit' is not there"
    finish
    exit
fi
git init -q "$dir/definition"
cp "$ROOT/.pre-commit-hooks.yaml" "$dir/definition/"
git -C "$dir/definition" add .
git -C "$dir/definition" commit -qm definition
git -C "$dir/definition" tag v0.1.0
mkdir "$dir/template"
sed "s|https://example.org/weir.git .*|$dir/definition|" "$dir/blocks/2.yaml" >"$dir/template/.pre-commit-config.yaml"
# A new repository of git has the hook from the start.
git -C "$dir/template" init -q
(cd "$dir/template" && pre-commit install) >"$dir/said" 2>&1 || cat "$dir/said" >&2
mkdir -p "$dir/init/hooks"
cp "$dir/template/.git/hooks/pre-commit" "$dir/init/hooks/"
git config --global init.templateDir "$dir/init"
hook_cases 'pre-commit'
is 'pre-commit: the other hook does not run before commits' "$(grep -c 'secrets in files' "$dir/said")" 0
is 'pre-commit: it has nothing to complain of' "$(grep -c WARNING "$dir/said")" 0

run pre-commit run --hook-stage manual --all-files weir-scan-files
is 'pre-commit, files: nothing' "$status" 0
odd=('-x' 'a b' $'new\nline' "it's")
for name in "${odd[@]}"; do printf 'key = "%s"\n' "$pat" >"$name"; done
git add -- "${odd[@]}"
git commit -qm odd --no-verify
run pre-commit run --hook-stage manual --all-files weir-scan-files
is 'pre-commit, files: one secret in four files' "$status $(grep -c '1 secret in 4 places' "$dir/out")" '1 1'
hides 'pre-commit, files'
run pre-commit run --all-files weir-scan
is 'pre-commit: nothing is staged, nothing is looked at' "$status" 0

rm "$dir/bin/weir"
printf 'more\n' >more
git add more
run git commit -qm more
is 'pre-commit: without weir no commit passes' "$status" 1

finish
