#!/usr/bin/env bash
# Four workers compete for one name; one of them is killed while it holds. Usage: tools/demo.sh HOLDFAST [TTL]
#
# Each worker is a shell loop around `holdfast run`. The jobs write down when they start and end, and with which token;
# from these notes the script draws who held when, and fails if two ever held at once or a token did not grow.
set -euo pipefail
export LC_ALL=C

holdfast="$(realpath "${1:?usage: tools/demo.sh HOLDFAST [TTL]}")"
name=nightly-report
ttl="${2:-2s}"

# A private world: notes, and a folder in which `holdfast run` starts its private server.
folder="$(mktemp -d)"
notes="$folder/notes"
export notes HOLDFAST_LOCAL_DIR="$folder/holdfast"
unset HOLDFAST_URL REDIS_URL
workers=()

clean_up() {
  local pid_file="$folder/holdfast/redis.pid" server
  for worker in "${workers[@]}"; do kill "$worker" 2>/dev/null || true; done
  wait
  if [[ -s $pid_file ]]; then
    server="$(<"$pid_file")"
    kill "$server" 2>/dev/null || true
    for _ in {1..100}; do
      kill -0 "$server" 2>/dev/null || break
      sleep 0.02
    done
  fi
  rm -rf "$folder"
}
trap clean_up EXIT

fail() {
  echo "demo: $*" >&2
  if [[ -s $folder/errors ]]; then cat "$folder/errors" >&2; fi
  exit 1
}

# What must run in one place at a time. Notes: time, event, token, worker, and the pids of the job, of its parent (the
# guard process of `holdfast run`), and of the parent's parent (`holdfast run` itself).
cat >"$folder/job" <<'JOB'
read -r _ _ _ runner _ <"/proc/$PPID/stat"
note() { echo "$EPOCHREALTIME $1 $HOLDFAST_TOKEN $worker $$ $PPID $runner" >>"$notes"; }
note start
sleep 0.8
note end
JOB

work() {
  local round code
  export worker="$1"
  for round in 1 2; do
    while true; do
      "$holdfast" run --local --ttl "$ttl" "$name" -- bash "$folder/job" 2>>"$folder/errors" && break
      code=$?
      echo "$EPOCHREALTIME failed $code $worker $round - -" >>"$notes"
      [[ $code -eq 79 ]] || break # this machine was too busy to renew the lease, and the job was ended: once more
    done
  done
}

# The nth note of a job that starts, once it is there.
wait_for_start() {
  local found
  for _ in {1..500}; do
    found="$(awk -v nth="$1" '$2 == "start" && ++n == nth' "$notes")"
    if [[ -n $found ]]; then
      echo "$found"
      return
    fi
    sleep 0.02
  done
  return 1
}

echo "Four workers, each of which wants to run this twice:"
echo
echo "    holdfast run --local --ttl $ttl $name -- bash job        (the job takes 0.8 s)"
echo
touch "$notes"
for letter in A B C D; do
  work "$letter" &
  workers+=($!)
done

victim="$(wait_for_start 3)" || fail "no third job has started"
read -r _ _ token letter job guard runner <<<"$victim"
letters=ABCD
before="${letters%%"$letter"*}"
worker="${workers[${#before}]}"
sleep 0.3        # into the middle of its job
disown "$worker" # or the shell would tell that it was killed
kill -KILL "$worker" "$runner" "$guard" "$job" || fail "the job of worker $letter has ended before it could be killed"
echo "$EPOCHREALTIME killed $token $letter $job $guard $runner" >>"$notes"
echo "Worker $letter holds the name now, and has just been killed with its holdfast and its job, by SIGKILL."
echo "Nobody can give its lock back: it ends with its ttl of $ttl, and the next one takes over."
echo
for worker in "${workers[@]}"; do wait "$worker" 2>/dev/null || true; done

# One line for each time the name was held, in the order of taking it; then the verdict.
sort -n "$notes" | awk -v ttl="$ttl" '
  $2 == "start" {
    if (!begin) begin = $1
    n++; from[n] = $1; token[n] = $3; who[n] = $4; pid[n] = $5; nth[$5] = n; newest[$4] = n
  }
  $2 == "end" || $2 == "killed" { to[nth[$5]] = $1; how[nth[$5]] = $2 == "end" ? "released" : "KILLED" }
  $2 == "failed" && $3 == 79 { if (!(newest[$4] in to)) { to[newest[$4]] = $1; how[newest[$4]] = "LOST" }; next }
  $2 == "failed" { failures[++failed] = $4 " ended with exit code " $3 }
  END {
    scale = 5  # columns a second
    print "  worker     pid  token               from       to  ended by  |  time ->"
    for (i = 1; i <= n; i++) {
      bar = ""
      for (c = int((from[i] - begin) * scale + 0.5); c > 0; c--) bar = bar " "
      for (c = int((to[i] - from[i]) * scale + 0.5); c > 0; c--) bar = bar "#"
      if (how[i] == "KILLED") {
        bar = bar "x"
        for (c = int((from[i + 1] - to[i]) * scale - 0.5); c > 0; c--) bar = bar "."
      }
      printf "  %-6s %7d  %-16s  %4.1f s   %4.1f s  %-8s  |  %s\n", who[i], pid[i], token[i], from[i] - begin, to[i] - begin, how[i], bar
    }
    print ""
    for (i = 1; i <= n; i++) {
      if (!(i in to)) wrong = wrong "  the job with token " token[i] " has no end\n"
      if (i > 1 && how[i - 1] != "LOST" && from[i] < to[i - 1]) wrong = wrong "  tokens " token[i - 1] " and " token[i] " were held at the same time\n"
      if (i > 1 && token[i] + 0 <= token[i - 1] + 0) wrong = wrong "  token " token[i] " came after " token[i - 1] "\n"
      if (how[i] == "KILLED") { killed++; if (i < n) gap = from[i + 1] - to[i]; heir = who[i + 1] }
    }
    for (i = 1; i <= failed; i++) wrong = wrong "  worker " failures[i] "\n"
    if (n < 7) wrong = wrong "  only " n " jobs have run\n"
    if (killed != 1 || gap == 0) wrong = wrong "  nobody took over from the killed holder\n"
    if (wrong) { printf "WRONG:\n%s", wrong; exit 1 }
    printf "%d times held, never by two at once; every token greater than the one before.\n", n
    printf "After the kill, worker %s took over in %.2f s (ttl %s).\n", heir, gap, ttl
  }' || fail "this is not what Holdfast promises"
