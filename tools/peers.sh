# shellcheck shell=bash
# Sourced by tools/prepare-peers and tools/prepare-race: builds a program of another library into build/peers, or writes
# down why it can't be had.

built="$PWD/build/peers"
mkdir -p "$built"

# at_least NUMBER COMMAND...: is the first number that the command says as high as that?
at_least() {
  local minimum="$1" said
  shift
  command -v "$1" >/dev/null && said="$("$@" 2>/dev/null)" && [[ $said =~ [0-9]+ ]] && ((BASH_REMATCH[0] >= minimum))
}
has_java() { at_least 17 javac -version; }
has_maven() { command -v mvn >/dev/null; }
has_go() { command -v go >/dev/null && [[ $(go env GOVERSION) =~ ^go1\.([0-9]+) ]] && ((BASH_REMATCH[1] >= 19)); }
has_node() { at_least 16 node --version; }
has_npm() { command -v npm >/dev/null; }
# Debian's python3 has the module but not what it needs to put pip into an environment.
has_python() { python3 -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 10))' 2>/dev/null; }
has_redis_plus_plus() { pkg-config --exists redis++ || [[ -n ${REDIS_PLUS_PLUS:-} ]]; }

declare -A description=(
  [java]="a JDK, 17 or later" [maven]="Maven" [go]="Go, 1.19 or later" [node]="Node, 16 or later" [npm]="npm"
  [python]="Python, 3.10 or later, with venv" [redis_plus_plus]="a package redis++, or its checkout in REDIS_PLUS_PLUS")

# missing PROGRAM...: those that aren't here, or are too old, a line each.
missing() {
  local program
  for program in "$@"; do
    "has_$program" || echo "$program"
  done
}

# join TEXT...: with commas.
join() {
  local all="${1:-}"
  shift || true
  printf '%s' "$all" "${@/#/, }"
}

# Why a build failed, in a line: the first that speaks of an error, or else the last.
reason() { # LOG
  { grep -m 1 -iE 'error|fail|cannot|not found' "$1" || grep . "$1" | tail -n 1 || echo "its build failed"; } | cut -c 1-200
}

# prepare NAME "PROGRAM..." SOURCES RECIPE [ARG...]: makes the folder build/peers/NAME from the folder SOURCES,
# unless that was done with the same sources and tools. RECIPE runs in SOURCES and puts what it makes into $folder; `set -e`
# has no effect there. What can't be had is left out: build/peers/NAME.lacking says why, and `unprepared` has the name.
unprepared=()
prepare() {
  local name="$1" sources="$3" folder="$built/$1" log="$built/$1.log" lacking="$built/$1.lacking"
  local programs absent why made_of started=$SECONDS
  read -ra programs <<<"$2"
  shift 3
  made_of="$({ cat "tools/${0##*/}" tools/peers.sh && find "$sources" -type f | sort | xargs cat && { "tools_of_$1" || true; }; } 2>&1 | sha256sum)"
  if [[ $(cat "$folder/made_of" 2>/dev/null) == "$made_of" ]]; then
    rm -f "$lacking"
    return
  fi
  printf 'Preparing %s ... ' "$name"
  rm -rf "$folder" "$lacking"
  mapfile -t absent < <(missing "${programs[@]}")
  if [[ ${#absent[@]} -gt 0 ]]; then
    mapfile -t absent < <(for program in "${absent[@]}"; do echo "${description[$program]}"; done)
    why="it needs $(join "${absent[@]}")"
  elif mkdir -p "$folder" && (cd "$sources" && "$@") >"$log" 2>&1; then
    rm -f "$log"
    echo "$made_of" >"$folder/made_of"
    printf 'done in %d s\n' $((SECONDS - started))
    return
  else
    why="$(reason "$log")"
    echo "failed; this was said:"
    cat "$log"
    rm -rf "$folder"
  fi
  echo "can't be had: $why"
  echo "$why" >"$lacking"
  unprepared+=("$name")
}

# What was built by one version may not run with another: a Python's environment and Node's folder, above all.
tools_of_with_maven() { javac -version; }
tools_of_with_go() { go version; }
tools_of_with_go_launched() { go version; }
tools_of_with_npm() { node --version; }
tools_of_with_pip() { command -v python3 && python3 --version; }
tools_of_with_redis_plus_plus() { g++ --version && pkg-config --modversion redis++; echo "${REDIS_PLUS_PLUS:-}"; }

with_go() {
  go build -o "$folder/peer" .
}
