#!/bin/bash
# The program as a person meets it: help, exit status, suggestions, completions, manual pages.
#
# WEIR is the program, TOY the program with every kind of option (tests/e2e/toy.c). Prints TAP.
set -euo pipefail
# shellcheck source=tests/e2e/cli_lib.sh
source "$(dirname "$0")/cli_lib.sh"
: "${TOY:?the path of toy}"

# The pages, without .1: weir, weir-errors, ...
pages=$("$WEIR" man --list | sed 's/\.1$//')
commands=$(printf '%s\n' "$pages" | sed -n 's/^weir-//p')

## help

run "$WEIR"
expect 'weir alone lists the commands' 0 'weir *errors*list every error*' ''
missing=
for command in $commands; do
    grep -q "^  $command " "$dir/out" || missing+=" $command"
done
is 'every command is in the list' "$missing" ''

for command in $commands; do
    run "$WEIR" "$command" --help
    examples=$(sed '1d;/^$/q' "$dir/out" | grep -c '^  [^ ]' || true)
    if [[ $status -eq 0 && $out == Examples:* && $examples -ge 3 && -z $err ]]; then
        pass "weir $command --help starts with three examples"
    else
        fail "weir $command --help starts with three examples" "$(said)"
    fi
    run "$WEIR" "$command" -h
    expect "weir $command -h is a summary" 0 "weir $command: *Usage: weir $command *Options:*" ''
    run "$WEIR" help "$command"
    is "weir help $command is weir $command --help" "$out" "$("$WEIR" "$command" --help)"
done

run "$WEIR" --help
is 'weir --help is weir help' "$out" "$("$WEIR" help)"
run "$WEIR" help
expect 'weir help starts with examples' 0 'Examples:*Exit status:*' ''
longest=$(COLUMNS=60 "$WEIR" help man | awk 'length > 60 && !/^  [^ ]/ { print }')
is 'help is wrapped to COLUMNS' "$longest" ''
finders() { # how: the commands whose help, or page, speaks of findings
    local command
    for command in $commands; do
        ! "$WEIR" "$1" "$command" | grep -q 'findings or' || echo "$command"
    done
}
is 'commands that find say so, and no others' "$(finders help | paste -sd ' ')" 'rules scan store'
is 'and so do their pages' "$(finders man | paste -sd ' ')" 'rules scan store'
long=$(COLUMNS=45 "$WEIR" demo queue | grep -vE '^   (OBJECT|queue) ' | grep -E '^.{46}' || true)
is 'weir demo is wrapped to COLUMNS, but for its table' "$long" ''

## version and errors

run "$WEIR" --version
expect 'weir --version' 0 'weir [0-9]*.[0-9]*.[0-9]*' ''
is 'weir version says the same' "$("$WEIR" version)" "$out"
is 'weir -V says the same' "$("$WEIR" -V)" "$out"
version=${out#weir }
run "$WEIR" --version --json
expect 'weir --version --json' 0 "{\"name\":\"weir\",\"version\":\"$version\",*}" ''

run "$WEIR" errors
expect 'weir errors has the table' 0 '*Busy * 429 *yes*at capacity*Interrupted*130*' ''
run "$WEIR" errors busy 41
expect 'weir errors finds by name and code' 0 '*Busy*NoDescriptors*' ''
is 'and shows these alone' "$(wc -l <"$dir/out")" 3
run "$WEIR" errors Bsuy
expect 'weir errors suggests' 2 '' "weir errors: unknown error 'Bsuy': did you mean 'Busy'?"
if command -v jq >/dev/null; then
    is 'weir errors --json is JSON' \
        "$("$WEIR" errors --json | jq -r '.[] | select(.code == 62) | "\(.name) \(.exit)"')" \
        'Interrupted 130'
    is 'weir version --json is JSON' "$("$WEIR" version --json | jq -r .version)" "$version"
    is 'its date is that of the pages' "$("$WEIR" version --json | jq -r '.date, .released')" \
        "$("$WEIR" man | sed -n 's/^\.TH WEIR 1 \([^ ]*\) .*/\1/p')"$'\nnull'
    compiler=$("$WEIR" version --json | jq -r .compiler)
    is 'and the compiler has a name' \
        "$(grep -cxE '(gcc|clang) [0-9]+\.[0-9]+\.[0-9]+' <<<"$compiler")" 1
else
    skip 'its date is that of the pages' 'jq is not installed'
    skip 'and the compiler has a name' 'jq is not installed'
    skip 'weir errors --json is JSON' 'jq is not installed'
    skip 'weir version --json is JSON' 'jq is not installed'
fi

## wrong command lines

run "$WEIR" -- errors Busy
expect 'a -- before the command' 0 '*Busy*' ''
run "$WEIR" -- errors --json Busy
expect 'leaves the command its options' 0 '\[{*"Busy"*}\]' ''
run "$WEIR" -- --version
expect 'and ends those of weir' 2 '' "weir: unknown command '--version'*"
long=$(printf '%0200d' 0)
run "$WEIR" "$long"
expect 'the cut of a long argument is marked' 2 '' "weir: unknown command '${long:0:80}...': *"
run "$WEIR" errors "$long"
expect 'that of an operand too' 2 '' "weir errors: unknown error '${long:0:80}...': *"
run "$WEIR" man --list "$long"
expect 'and in weir man' 2 '' "weir man: *leave '${long:0:80}...' out"
run "$WEIR" erors
expect 'an unknown command finds the nearest' 2 '' \
    "weir: unknown command 'erors': did you mean 'errors'?"
run "$WEIR" qqqqqq
expect 'or says where to look' 2 '' "weir: unknown command 'qqqqqq': 'weir help' lists*"
run "$WEIR" help erors
expect 'weir help suggests too' 2 '' "weir help: unknown command 'erors': did you mean 'errors'?"
run "$WEIR" man erors
expect 'weir man suggests too' 2 '' "weir man: unknown command 'erors': did you mean 'errors'?"
run "$WEIR" man --list errors
expect 'weir man --list takes no command' 2 '' "weir man: '--list' lists all pages*"
run "$WEIR" --versoin
expect 'an unknown option of weir' 2 '' \
    "weir: unknown option '--versoin': did you mean '--version'?"
run "$WEIR" errors --jsno
expect 'an unknown option of a command' 2 '' \
    "weir errors: unknown option '--jsno': did you mean '--json'?"
run "$WEIR" errors --jso
expect 'an abbreviation is not enough' 2 '' "*did you mean '--json'?"
run "$WEIR" errors --json=yes
expect 'a value for a flag' 2 '' "weir errors: option '--json' takes no value, not 'yes'"
run "$WEIR" completion
expect 'a missing operand' 2 '' 'weir completion: SHELL is missing: *'
run "$WEIR" completion tcsh
expect 'an operand that is not a known word' 2 '' \
    "weir completion: SHELL 'tcsh' is not known: expected bash, zsh or fish"
run "$WEIR" version extra
expect 'an operand too many' 2 '' "weir version: unexpected operand 'extra'*"
run "$WEIR" ''
expect 'an empty command' 2 '' "weir: unknown command ''*"
run "$WEIR" $'a\nb\e[31m'
expect 'control characters are escaped' 2 '' "weir: unknown command 'a\\\\nb\\\\x1b\\[31m'*"
run "$TOY" move --max-file=3 a b
expect 'a beginning finds its option' 2 '' \
    "toy move: unknown option '--max-file': did you mean '--max-files-in-flight'?"
run "$TOY" move -n 5000 a b
expect 'a value out of range' 2 '' \
    "toy move: option '-n': '5000' is out of range: expected 1 to 4096"
run "$TOY" move -S=keep a b
expect 'a value for a letter that takes none' 2 '' \
    "toy move: option '-S' takes no value: write '--holes=WORD'"
run "$TOY" move --holes keep a b
expect 'a value that may be left out is not the next word' 0 '3 keep 1024' ''
run "$TOY" move --help
expect 'help has sections, and what an option alone means' 0 \
    "*Options:*--json*Options: who it is for*--everybody, --no-everybody*Options: \[odd\] 'sections': last*--holes\[=WORD\], --no-holes*(default: keep; alone: make)*--limit=SIZE*(default: 1G)*" ''
table="
    short     a row of a table, 'as it stands', however narrow the page is
    much more   --another
    .dot      a third

Words behind the table."
run env COLUMNS=40 "$TOY" move --help
expect 'a table in a description stays as it is' 0 "*in it.
$table
*" ''
run "$TOY" move a -n7 b -- -c
expect 'options and operands mix' 0 '3 a 7' ''

## color

is 'no color without a terminal' "$("$WEIR" help | grep -c $'\e')" 0
is 'CLICOLOR_FORCE colors' "$(CLICOLOR_FORCE=1 "$WEIR" help | grep -c $'\e\[1m' | grep -vc '^0$')" 1
is 'NO_COLOR wins' "$(NO_COLOR=1 CLICOLOR_FORCE=1 "$WEIR" help | grep -c $'\e')" 0
is 'errors without color' "$("$WEIR" erors 2>&1 | grep -c $'\e')" 0
if script -qec true /dev/null </dev/null >/dev/null 2>&1; then
    on_terminal() { # environment and command
        script -qec "env TERM=xterm $* $(printf '%q' "$WEIR") help" /dev/null </dev/null |
            grep -c $'\e\['
    }
    [[ $(on_terminal) -gt 0 ]] && pass 'color on a terminal' || fail 'color on a terminal' none
    is 'NO_COLOR on a terminal' "$(on_terminal NO_COLOR=1)" 0
    is 'TERM=dumb on a terminal' "$(on_terminal TERM=dumb)" 0
else
    skip 'color on a terminal' 'there is no pseudo-terminal, or no script(1)'
    skip 'NO_COLOR on a terminal' 'there is no pseudo-terminal, or no script(1)'
    skip 'TERM=dumb on a terminal' 'there is no pseudo-terminal, or no script(1)'
fi

## output that goes nowhere, and signals

for command in help errors 'errors --json' man 'completion bash' version; do
    # shellcheck disable=SC2086
    {
        status=0
        (sleep 0.05; exec "$WEIR" $command) 2>"$dir/err" || status=$?
        echo "$status" >"$dir/status"
    } | true
    is "a reader that left is no error: $command" "$(cat "$dir/status" "$dir/err")" 0
    status=0 out=''
    # shellcheck disable=SC2086
    "$WEIR" $command >/dev/full 2>"$dir/err" || status=$?
    err=$(cat "$dir/err")
    expect "a full disk is reported: $command" 3 '' \
        "weir*: cannot write to standard output: no space left on device"
done
status=0 out=''
"$WEIR" version >&- 2>"$dir/err" || status=$?
err=$(cat "$dir/err")
expect 'a closed standard output is reported' 3 '' '*: bad file descriptor'
status=0
"$WEIR" version >"$dir/out" 2>&- <&- || status=$?
is 'closed standard input and error do no harm' "$status $(cat "$dir/out")" "0 weir $version"

# Job control, so that the program in the background does not ignore SIGINT.
signal_status() {
    local status=0
    : >"$dir/wait" # what the one before said is not taken for this one
    bash -c 'set -m; "$0" wait >"$2" & pid=$!
        for i in {1..200}; do grep -q waiting "$2" && break; sleep 0.05; done
        kill -s "$1" $pid; wait $pid' "$TOY" "$1" "$dir/wait" 2>/dev/null || status=$?
    echo "$status $(tr '\n' ' ' <"$dir/wait")"
}
is 'SIGINT is re-raised when all is in order' "$(signal_status INT)" '130 waiting put in order '
is 'SIGTERM too' "$(signal_status TERM)" '143 waiting put in order '

## completions

"$WEIR" completion bash >"$dir/weir.bash"
"$WEIR" completion zsh >"$dir/_weir"
"$WEIR" completion fish >"$dir/weir.fish"
"$TOY" print bash >"$dir/toy.bash"
"$TOY" print zsh >"$dir/_toy"
"$TOY" print fish >"$dir/toy.fish"

mkdir -p "$dir/tree/folder one"
touch "$dir/tree/file one"
for name in weir toy; do
    run bash -n "$dir/$name.bash"
    expect "bash reads the completion of $name" 0 '' ''
    run bash --norc -c 'source "$0"; complete -p "$1"' "$dir/$name.bash" "$name"
    expect "bash completes $name" 0 "complete -F _$name $name" ''
done
toy=("$dir/toy.bash" "$dir/tree" toy)
is 'bash: commands' "$(offers "${toy[@]}" '')" 'move print wait -h --help'
is 'bash: a command begun' "$(offers "${toy[@]}" mo)" 'move'
is 'bash: options' "$(offers "${toy[@]}" move --s)" '--sparse --size'
is 'bash: words of an option' "$(offers "${toy[@]}" move --verify '')" 'first always scrub'
is 'bash: a value that may be left out comes after =' \
    "$(offers "${toy[@]}" move --holes = m)" 'make'
is 'bash: not after a blank' "$(offers "${toy[@]}" move --holes 'fi')" 'file one'
is 'bash: and is no operand' "$(offers "${toy[@]}" move --holes = make --g)" '--group'
is 'bash: opposites' "$(offers "${toy[@]}" move --no-)" \
    '--no-sparse --no-everybody --no-owner --no-group --no-holes'
is 'bash: words after =' "$(offers "${toy[@]}" move --verify = s)" 'scrub'
is 'bash: words right at =' "$(offers "${toy[@]}" move --verify =)" 'first always scrub'
is 'bash: files' "$(offers "${toy[@]}" move --output 'fi')" 'file one'
is 'bash: directories' "$(offers "${toy[@]}" move --dir f)" 'folder one'
is 'bash: nothing for a number' "$(offers "${toy[@]}" move -n '')" ''
is 'bash: first operand' "$(offers "${toy[@]}" print '')" 'bash zsh fish man'
is 'bash: second operand' "$(offers "${toy[@]}" print man '')" 'move print wait'
is 'bash: no third operand' "$(offers "${toy[@]}" print man move '')" ''
is 'bash: after -- only operands' "$(offers "${toy[@]}" print -- z)" 'zsh'
is 'bash: a value is no operand' "$(offers "${toy[@]}" move -n 5 'fi')" 'file one'
is 'bash: shells of weir' "$(offers "$dir/weir.bash" "$dir" weir completion '')" 'bash zsh fish'
names=$("$WEIR" errors | awk 'NR > 1 { print $2 }')
is 'bash: every error of weir' "$(offers "$dir/weir.bash" "$dir" weir errors '')" \
    "$(tr '\n' ' ' <<<"$names" | sed 's/ $//')"
is 'bash: an error begun, after another' \
    "$(offers "$dir/weir.bash" "$dir" weir errors 41 Bu)" 'Busy'
is 'bash: after a -- before the command' "$(offers "$dir/weir.bash" "$dir" weir -- errors Bu)" 'Busy'
is 'bash: and its options' "$(offers "$dir/weir.bash" "$dir" weir -- errors --j)" '--json'

if command -v zsh >/dev/null; then
    for name in weir toy; do
        run zsh -n "$dir/_$name"
        expect "zsh reads the completion of $name" 0 '' ''
        run zsh -f -c 'fpath=($1 $fpath); autoload -Uz compinit; compinit -u -D
            source $1/_$2; print $_comps[$2] $+functions[_$2]' zsh "$dir" "$name"
        expect "zsh completes $name" 0 "_$name 1" ''
    done
else
    for name in weir toy; do
        skip "zsh reads the completion of $name" 'zsh is not installed'
        skip "zsh completes $name" 'zsh is not installed'
    done
fi

# Types a line and a tab into an interactive zsh, and prints what is on the terminal: what was
# offered, then the line as it has become, in <<>>.
cat >"$dir/ask.zsh" <<'END'
zmodload zsh/zpty
zpty shell 'TERM=dumb zsh -f -i'
zpty -w shell "PS1= fpath=(${(q)1} \$fpath); autoload -Uz compinit; compinit -u -D
    source ${(q)1}/_weir; source ${(q)1}/_toy; cd ${(q)1}/tree
    show() { print -r -- \"<<\$BUFFER>>\"; BUFFER= }; zle -N show; bindkey '^X' show
    print rea''dy"
zpty -r -m shell text '*ready*'
zpty -w -n shell "$2"$'\t\x18'
zpty -r -m shell text '*<<*>>*'
print -r -- $text
zpty -d shell
END
asks=(
    'a command begun|weir dev|*<<weir devices >>*'
    'commands|weir de|*demo *-- show what*devices *-- show which*<<weir de>>*'
    'an option|weir devices --j|*<<weir devices --json >>*'
    'an option of weir|weir --ver|*<<weir --version >>*'
    'options|toy move --s|*--size *-- bytes at once*--sparse *-- keep holes*<<*>>*'
    'words of an option|toy move --verify=s|*<<toy move --verify=scrub >>*'
    'a value that may be left out|toy move --holes=m|*<<toy move --holes=make >>*'
    'nor is it the next word|toy move --holes fi|*<<toy move --holes file\\ one >>*'
    'its letter takes none|toy move -S fi|*<<toy move -S file\\ one >>*'
    'an opposite|toy move --no-hol|*<<toy move --no-holes >>*'
    'a group|toy move --ev|*<<toy move --everybody >>*'
    'directories|toy move --dir=f|*<<toy move --dir=folder\\ one/>>*'
    'an operand|weir completion f|*<<weir completion fish >>*'
    'an error of weir|weir errors Busy NoM|*<<weir errors Busy NoMemory >>*'
    'an operand that is a command|weir help err|*<<weir help errors >>*'
    'after a -- before the command|weir -- errors --j|*<<weir -- errors --json >>*'
)
for ask in "${asks[@]}"; do
    IFS='|' read -r name line wanted <<<"$ask"
    if ! command -v zsh >/dev/null || ! zsh -f -c 'zmodload zsh/zpty' 2>/dev/null; then
        skip "zsh: $name" 'zsh or its module zpty is not installed'
        continue
    fi
    run timeout 20 zsh -f "$dir/ask.zsh" "$dir" "$line"
    expect "zsh: $name" 0 "$wanted" ''
done

if command -v fish >/dev/null; then
    # What fish offers for a line, without the descriptions.
    fish_offers() { # script, line
        (cd "$dir/tree" && HOME=$dir fish --no-config -c "source '$1'; complete -C '$2'") |
            cut -f 1 | sort | tr '\n' ' '
    }
    for name in weir toy; do
        run fish -n "$dir/$name.fish"
        expect "fish reads the completion of $name" 0 '' ''
    done
    is 'fish: commands' "$(fish_offers "$dir/toy.fish" 'toy ')" 'move print wait '
    is 'fish: options' "$(fish_offers "$dir/toy.fish" 'toy move --s')" '--size --sparse '
    is 'fish: words of an option' "$(fish_offers "$dir/toy.fish" 'toy move --verify ')" \
        'always first scrub '
    is 'fish: a value that may be left out' "$(fish_offers "$dir/toy.fish" 'toy move --holes=m')" \
        '--holes=make '
    is 'fish: opposites' "$(fish_offers "$dir/toy.fish" 'toy move --no-')" \
        '--no-everybody --no-group --no-holes --no-owner --no-sparse '
    is 'fish: directories' "$(fish_offers "$dir/toy.fish" 'toy move --dir fo')" 'folder one/ '
    is 'fish: an operand is not the command' \
        "$(fish_offers "$dir/weir.fish" 'weir help errors --j')" ''
    is 'fish: an error of weir' "$(fish_offers "$dir/weir.fish" 'weir errors Bus')" 'Busy '
else
    for name in weir toy; do
        skip "fish reads the completion of $name" 'fish is not installed'
    done
    for name in commands options 'words of an option' 'a value that may be left out' opposites \
        directories \
        'an operand is not the command' 'an error of weir'; do
        skip "fish: $name" 'fish is not installed'
    done
fi

## manual pages

for page in $pages toy-move; do
    case $page in
    weir) "$WEIR" man ;;
    weir-*) "$WEIR" man "${page#weir-}" ;;
    toy-move) "$TOY" print man move ;;
    esac >"$dir/$page.1"
    if command -v mandoc >/dev/null; then
        run mandoc -T lint -W warning "$dir/$page.1"
        expect "mandoc finds no fault in $page.1" 0 '' ''
    else
        skip "mandoc finds no fault in $page.1" 'mandoc is not installed'
    fi
done
if command -v mandoc >/dev/null; then
    page=$(mandoc -T ascii "$dir/toy-move.1" | sed 's/.\x08//g')
    run true
    out=$page
    expect 'special characters survive in a page' 0 \
        "*it*s \[any\] text: with \"quotes\", a \\\\ and a \`tick\`*" ''
    expect 'sections and values that may be left out are in it' 0 \
        "*\[odd\] 'sections': last*-S, --holes\[=WORD\], --no-holes*Alone it stands for make.*" ''
    out=$(sed 's/^       //' <<<"$page") # without its margin
    expect 'a table stays as it is in a page' 0 "*$table*" ''
else
    skip 'sections and values that may be left out are in it' 'mandoc is not installed'
    skip 'special characters survive in a page' 'mandoc is not installed'
    skip 'a table stays as it is in a page' 'mandoc is not installed'
fi

## drift: what --help names must be everywhere

help_options() { # program, command
    "$1" "$2" --help | sed -n '/^Options:/,/^$/p' |
        grep -oE '^ {2,6}(-[A-Za-z0-9]|(-[A-Za-z0-9], )?--[a-z0-9-]+(\[=[^]]+\])?(, --no-[a-z0-9-]+)?)' |
        grep -oE -- '(^|[ ,])-(-[a-z0-9-]+|[A-Za-z0-9])' | tr -d ' ,' | sort -u
}

drift() { # program, name, command, page
    local option bare missing=
    sed 's/\\-/-/g; s/\\f[BRI]//g' "$4" >"$dir/plain"
    # The part of each script that is about this command.
    sed -n "/^    $3)/,/^        ;;/p" "$dir/$2.bash" >"$dir/part.bash"
    sed -n "/^    $3)/,/^        ;;/p" "$dir/_$2" >"$dir/part.zsh"
    grep "_is $3'" "$dir/$2.fish" >"$dir/part.fish"
    for option in $(help_options "$1" "$3"); do
        bare=${option#-}
        bare=${bare#-}
        grep -qE -- "(^|[ ,])$option($|[] ,=[])" "$dir/plain" || missing+=" man:$option"
        grep -qE -- "[ ']${option}[ ']" "$dir/part.bash" || missing+=" bash:$option"
        grep -qE -- "[)'{,]${option}[][+=},']" "$dir/part.zsh" || missing+=" zsh:$option"
        grep -qE -- "-[ls] $bare( |\$)" "$dir/part.fish" || missing+=" fish:$option"
    done
    is "options of $2 $3 are everywhere" "$missing" ''
}
is 'the drift test sees options' "$(help_options "$TOY" move | wc -l)" 32
for command in $commands; do
    drift "$WEIR" weir "$command" "$dir/weir-$command.1"
done
drift "$TOY" toy move "$dir/toy-move.1"

# --- a system that gives no threads ---

plain=()
if [[ $(id -u) -eq 0 ]]; then
    plain=(setpriv --reuid=65534 --regid=65534 --clear-groups)
fi
if [[ $SANITIZED != none ]]; then
    skip 'without threads copy and scan say what they have not got' 'the sanitizer needs threads'
elif ((${#plain[@]} > 0)) && ! command -v setpriv >/dev/null; then
    skip 'without threads copy and scan say what they have not got' 'setpriv is not installed'
else
    mkdir "$dir/few" "$dir/few/from" "$dir/few/to"
    echo text >"$dir/few/from/file"
    cp "$WEIR" "$dir/few/weir"
    chmod 711 "$dir"
    chmod 777 "$dir/few/to"
    # shellcheck disable=SC2016
    alone=("${plain[@]}" bash -c 'cd "$1" && shift && ulimit -u 1 && exec ./weir "$@"' - "$dir/few")
    limits='there are too many threads (ulimit -u, or pids.max of the cgroup), or *'
    run "${alone[@]}" copy -r from to/copy
    expect 'without threads copy says what it has not got' 3 '' \
        "weir copy: cannot start: its threads cannot be had: $limits; --threads=1 needs fewest"
    run "${alone[@]}" copy --threads=3 -r from to/copy
    expect 'and how many it wanted' 3 '' \
        "weir copy: cannot start: the threads for --threads=3 cannot be had: $limits; --threads=1 needs fewest"
    run "${alone[@]}" scan from
    expect 'so does scan' 3 '' \
        "weir scan: cannot start: its threads cannot be had: $limits; --threads=1 needs fewest"
    run "${alone[@]}" scan --threads=1 from
    expect 'where there are none to save' 3 '' \
        "weir scan: cannot start: the threads for --threads=1 cannot be had: $limits; raise the limit"
fi

finish
