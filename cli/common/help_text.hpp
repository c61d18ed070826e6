/// The texts of `help` besides the list of options.
#pragma once

#include <string_view>

namespace holdfast::cli {

inline constexpr std::string_view main_footer = R"(Example: run a job on one host at a time
  holdfast run nightly-import -- ./import.sh

`holdfast help run` has the options, the environment and the exit codes.)";

inline constexpr std::string_view run_footer = R"(How it works
  Waits for the lock NAME, runs COMMAND while holding it, and gives it back when COMMAND ends.
  COMMAND runs in holdfast's own process group, with stdin, stdout and stderr as they are: on a terminal
  pipelines, scripts, ^C, ^Z and editors work as without holdfast. A signal that is sent to holdfast alone
  (SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGWINCH, SIGTSTP, SIGCONT) is passed on to COMMAND and
  its processes, once; one to the whole group reaches them anyway. While still waiting, the first four end the
  wait and leave nothing behind in Redis. As with flock(1), what COMMAND leaves in the background runs on
  without the lock.

When the lock is lost (server gone for longer than the ttl, lock deleted or released by force, --max-hold reached)
  --on-lost=term   SIGTERM while the lock still has a third of its ttl left, at most 5s; SIGKILL before
                   anybody else can get it. After a loss without warning: SIGKILL at most 1s after SIGTERM.
  --on-lost=kill   SIGKILL at once, before anybody else can get it
  --on-lost=warn   only a message
  A loss ends all that COMMAND has started, also under timeout(1) or setsid(1), but for daemons: what it has left
  to run by itself in a session of its own. A process of another user (sudo) can't be killed: that is said, and
  the lock is renewed until it ends, as long as the server answers.
  After a release by force the lock goes back as soon as the command is gone (with warn: when it ends; whoever
  uses force takes the lock after 2s).
  If holdfast itself is killed, or frozen for longer than the ttl, a small second process of it does the same
  (with warn: nothing); the lock then ends with its ttl. A job that is stopped with ^Z is frozen, too: after the
  ttl it has lost its lock, is killed, and says so when it is continued.

Once an hour, whichever host: --once-per
  For a job that several hosts start at the same time, or too often, as cron does. The first start in a slot
  of the clock runs it. A later start in the same slot does nothing but say so in one line on stderr, such as
    "report" ran 58 min ago on web-3 (0 s, exit 0); next in 2 min
  and exits with 0. The slot is found by the clock of the Redis server, so all hosts agree on it.
    hour, day, week, month   by the local time (TZ) of the host that asks, so give all hosts the same zone, or
                             --utc; a week begins on Monday
    15m, 1h, 2d ...          slots of that length, counted from 1970-01-01 00:00 UTC; each day is a multiple
                             of it, or it is a multiple of a day
    --offset 6h              slots begin 6 h later: `day` from 06:00 to 06:00, `1h --offset 15m` at :15
    --slack 30s              a start that comes up to 30s before a slot counts for it already: hosts' clocks and
                             cron are not exact, and a start a little too early would otherwise count for the slot
                             before. By default a tenth of a slot, at most 30s
  A job that still runs when the next slot begins is never started a second time beside it: a start in that slot
  does nothing, or with --wait waits for its end, and then runs the job for that slot. --wait waits for a busy
  lock only, not for the next slot.
  A run that fails (exit code other than 0), dies or loses the lock counts as done. With --retry-failed the next
  start in the slot runs the job again. A command that couldn't be started doesn't count, nor does one whose
  lock is released by force. `holdfast inspect NAME` shows the last run; `holdfast release --force NAME`
  forgets it, so that the job may run again at once. A start under NAME without --once-per isn't held back.
  --at-most-every 1h counts from the beginning of the last run instead of by the clock. An hourly crontab needs
  --once-per: with --at-most-every 1h each start that comes a moment early is left out. With --wait it waits for
  the end of the time.

Readers, writers and slots
  --shared and --exclusive are the two sides of a read-write lock, --slots N a semaphore of N permits. Like
  locks with --wire redisson they stand in Redis as Redisson (Java) has them, so that both take part in the
  same ones; they have no tokens. A lock of another kind under NAME is refused: exit code 65. All callers
  should say the same N: one who says another changes it, and says so.

Durations
  200ms, 5s, 1m30s, 2h, 1d, 0; a number alone is seconds

Which Redis
  --url, else $HOLDFAST_URL, else $REDIS_URL, else localhost:6379 if something listens there, else a private
  redis-server or valkey-server ($HOLDFAST_REDIS_SERVER names another), started when needed in
  /run/lock/holdfast-UID (where /run/lock isn't for everyone: /tmp/holdfast-UID) and shared by all your
  processes on this machine only. It holds nothing but locks and stays until it is stopped:
    kill $(cat /run/lock/holdfast-$(id -u)/redis.pid)
    redis://[user:password@]host[:port][/db]     one server
    redis+unix:///path/to/socket                 one server of this machine
    redis+sentinel://s1,s2,s3/mymaster[/db]      the master that these sentinels name (port 26379)
    redis+cluster://h1,h2                        a cluster, of which these are some nodes
    redis+quorum://h1,h2,h3                      masters that know nothing of each other and vote; it goes
                                                 with none of --fair --shared --exclusive --slots --replicas
  With TLS they begin with rediss. After a ? come parameters, with & between them:
    ca= cert= key= verify=yes|no   of TLS: files in PEM
    wire=redisson                  locks as Redisson has them
    nat=ANNOUNCED/REACHABLE,...    with Sentinel and clusters: where servers are reached from here, each
                                   host:port, if not where they say that they are
    sentinel_user= sentinel_password= sentinel_tls=yes|no   of the sentinels; user:password are the servers'
  `holdfast doctor` finds out whether they are fit for locks.

Environment of COMMAND
  HOLDFAST_NAME    the name of the lock
  HOLDFAST_TOKEN   the fencing token: a number that grows with each holder of the name; pass it along with
                   writes to a store that can refuse older ones; not set where there is none
  HOLDFAST_OWNER   the owner id as it stands in Redis

Exit codes
  COMMAND's own; when signal n ended COMMAND, or the wait, holdfast ends by the same signal, which shells show as
  128+n; and
  64   bad option, duration, URL or name
  65   the key NAME in Redis holds something that is no lock
  69   Redis can't be reached, or refused
  70   internal error
  75   the lock was busy (with --once-per and --at-most-every: 0, as for a job that isn't due)
  76   what answered is no Redis
  77   wrong user or password, or a right is missing
  79   the lock was lost or reached --max-hold while COMMAND ran: COMMAND was told to end for it, whatever its own
       exit code, or may have run beside another holder;
       or the lock was lost just before, and COMMAND was not started
  126  COMMAND can't be executed
  127  COMMAND was not found

Examples
  holdfast run nightly-import -- ./import.sh
  holdfast run --no-wait cron:report -- report --daily     # skip it when another host has it
  holdfast run --once-per hour --label 'hourly report' report -- report --hourly   # cron on several hosts
  holdfast run --once-per day --offset 6h --retry-failed backup -- ./backup        # cron every 10 minutes
  holdfast run --slots 3 encoder -- ./encode                     # at most three hosts at a time
  holdfast run --replicas 1 deploy:web -- ./deploy               # survives the loss of the master
  holdfast run --shared prices -- ./report                       # while nobody runs --exclusive prices
  holdfast run --wait 30s --ttl 10s deploy:web -- sh -c 'echo "token $HOLDFAST_TOKEN"; ./deploy'
  HOLDFAST_URL=rediss://:secret@redis.example:6380 holdfast run migrate -- ./migrate
  holdfast run --url redis+sentinel://s1,s2,s3/mymaster nightly -- ./import.sh)";

inline constexpr std::string_view completion_footer = R"(Examples
  holdfast completion bash > ~/.local/share/bash-completion/completions/holdfast
  holdfast completion zsh > "${fpath[1]}/_holdfast"
  holdfast completion fish > ~/.config/fish/completions/holdfast.fish)";

}  // namespace holdfast::cli
