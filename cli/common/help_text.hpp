/// The texts of `help` besides the list of options.
#pragma once

#include <string_view>

namespace holdfast::cli {

inline constexpr std::string_view main_footer = R"(Example: run a job on one host at a time
  holdfast run nightly-import -- ./import.sh

`holdfast help run` has the options, the environment and the exit codes.)";

inline constexpr std::string_view run_footer = R"(How it works
  Waits for the lock NAME, runs COMMAND while it holds the lock, and gives the lock back when COMMAND ends.
  COMMAND runs in holdfast's own process group, with stdin, stdout and stderr as they are. On a terminal
  pipelines, scripts, ^C, ^Z and editors work as without holdfast. As with flock(1), background processes of
  COMMAND run on without the lock.
  Signals to holdfast alone are passed on to COMMAND and its processes, once: SIGHUP, SIGINT, SIGQUIT,
  SIGTERM, SIGUSR1, SIGUSR2, SIGWINCH, SIGTSTP, SIGCONT. A signal to the whole group reaches COMMAND anyway,
  also if that is timeout(1) or another that makes a group of its own.
  While holdfast waits, the first four end the wait and leave nothing behind in Redis.

  A NAME that begins with - stands between two --: holdfast run -- -NAME -- COMMAND

Waiting
  --wait says how long to wait for a busy lock. After a second on a terminal, and anywhere with --verbose, a line
  says who holds the lock, and again when that has changed.
  --wait, or --wait-server, says how long to wait for a server that can't be reached; then exit code 69. Without
  either the server has 2s to answer, and no second try if nothing listens there. Once it has answered, outages are
  waited out. A server that accepts the connection, and is silent or loads its data, has the time of --wait-server,
  or a second more than that of --wait. Without either it is waited for while it loads its data.
  A key NAME that is a number and never expires (a counter, the permits of a semaphore) is refused: exit code 65.
  Any other string that never expires may be the lock of another program, such as redis-py: it is waited for, and a
  line says so after a second.

If the lock is lost (server gone for longer than the ttl, lock deleted or released by force, --max-hold reached)
  --on-lost=term   SIGTERM while the lock still has a third of its ttl left, at most 5s; SIGKILL before
                   anybody else can get the lock. After a loss without warning: SIGKILL at most 1s after
                   SIGTERM.
  --on-lost=kill   SIGKILL at once, before anybody else can get the lock
  --on-lost=warn   only a message
  A loss ends everything that COMMAND has started, also under timeout(1) or setsid(1). Daemons are spared:
  processes in a session of their own that COMMAND has left to run by themselves. A process of another user
  (sudo) can't be killed: holdfast says so, and renews the lock until the process ends, as long as the server
  answers. Where /proc hides the processes of other users (hidepid), that is so for COMMAND itself only: others
  that it has started as another user are neither ended nor waited for, and holdfast says so.
  The terminal gets back the modes that it had before COMMAND (not if stdout or stderr is a pipe, as to a pager).
  After a release by force the lock goes back as soon as COMMAND is gone. With --on-lost=warn it goes back when
  COMMAND ends, but the lock is deleted after 2s.
  If holdfast itself is killed, or frozen for longer than the ttl, a small second process of it (lock-guard), which
  is in a session of its own, does the same (with --on-lost=warn: nothing), also if holdfast's whole process group
  is. When nothing of COMMAND is left, it gives the lock of a killed holdfast back. A
  job that is stopped with ^Z is frozen, too: after the ttl it has lost its lock and is killed, and holdfast says so
  when the job is continued.

Once an hour, on any host: --once-per
  For a job that several hosts start at the same time, or too often, as cron does. The first start in a slot
  of the clock runs the job. A later start in the same slot prints one line on stderr, such as
    "report" ran 58 min ago on web-3 (0 s, exit 0); next in 2 min
  and exits with 0. The clock is that of the Redis server, so all hosts agree on the slot.
    hour, day, week, month   of the local time (TZ) of the host that asks. Give all hosts the same zone, or use
                             --utc. A week begins on Monday.
    15m, 1h, 2d ...          slots of that length, counted from 1970-01-01 00:00 UTC. A day must be a multiple
                             of the length, or the length a multiple of a day.
    --offset 6h              slots begin 6 h later: `day` from 06:00 to 06:00, `1h --offset 15m` at :15
    --slack 30s              a start up to 30s before a slot counts for that slot. Clocks of hosts and cron are
                             not exact; a start that is a little early would otherwise count for the slot
                             before. Default: a tenth of a slot, at most 30s.
  If a job still runs when the next slot begins, it is never started a second time beside itself. A start in
  that slot does nothing. With --wait it waits for the end of the job, and then runs the job for that slot.
  --wait waits only for a busy lock, not for the next slot.
  A run that fails (exit code other than 0), dies or loses the lock counts as done. With --retry-failed the next
  start in the slot runs the job again. A command that couldn't be started doesn't count, nor does a command
  whose lock is released by force.
  `holdfast inspect NAME` shows the last run. `holdfast release --force NAME` forgets it, so that the job may run
  again at once. --once-per doesn't hold back a start under NAME without --once-per.
  --at-most-every 1h counts from the beginning of the last run instead of by the clock. Don't use it in an hourly
  crontab: each start that comes a moment early is skipped. With --wait it waits for the end of the time.

Readers, writers and slots
  --shared and --exclusive are the two sides of a read-write lock. --slots N is a semaphore of N permits, which
  is served in the order of arrival. With --wire redisson they look in Redis as Redisson (Java) has them:
  programs in Java can use the same ones, and they have no tokens, nor an order. If NAME is a lock of another
  kind, holdfast refuses it: exit code 65. All callers must give the same N. A caller that gives another number
  is refused (65); --set-slots changes it.

Several names: --with, --with-shared, --with-slots
  take further names together with NAME, all or none: to write, to read, or for a slot. Each is the same lock as
  that of a run of that name alone. While holdfast waits for one of them it holds none of the others, except for
  short times once it has waited long, so no order of the names leads to a deadlock. The lock is lost with the
  first name that is lost. In a cluster the names have to be in one hash slot: {orders}:7 and {orders}:rates.
  It excludes --fair, Redisson's wire and redis+quorum://.

systemd
  In a unit with Type=notify holdfast says READY=1 when it has the lock, and shows its state while it waits
  (STATUS). COMMAND doesn't get NOTIFY_SOCKET. For an example see docs/recipes.md.

A holdfast in COMMAND
  may take other locks. The lock that COMMAND runs under is refused at once (75), as waiting for it would have
  no end; but readers may run in readers.

Durations
  200ms, 5s, 1.5s, 1m30s, 5min, 2h, 1d, 0; a number alone is seconds

Which Redis
  --url or --local, else $HOLDFAST_URL, else $REDIS_URL, else the configuration files, else localhost:6379 if
  something listens there. Hosts that each have a Redis on localhost don't exclude one another, so holdfast says
  when it uses that one and isn't on a terminal. Otherwise, on a terminal, it uses a private server. Elsewhere, as
  in cron, it runs nothing: exit code 64.
  --local is the private server: a redis-server or valkey-server ($HOLDFAST_REDIS_SERVER names another program).
  It is started when it is needed, in /run/lock/holdfast-UID (or /tmp/holdfast-UID, if not all users may use
  /run/lock). All your processes on this machine share it, and no other machine does; each run says so. It holds
  only locks, and runs until you stop it:
    kill $(cat /run/lock/holdfast-$(id -u)/redis.pid)
  A URL is one of
    redis://[user[:password]@]host[:port][/db]   one server
    redis+unix:///path/to/socket                 one server of this machine
    redis+sentinel://s1,s2,s3/mymaster[/db]      the master that these sentinels name (port 26379)
    redis+cluster://h1,h2                        a cluster; h1 and h2 are some of its nodes
    redis+quorum://h1,h2,h3                      independent masters that vote; it excludes --fair, --shared,
                                                 --exclusive, --slots and --replicas
    etcd://h1,h2,h3[/prefix]                     members of a cluster of etcd, in a build that has it (docs/etcd.md)
  For TLS a URL begins with rediss. Parameters follow after a ?, with & between them:
    ca= cert= key= verify=yes|no   for TLS: files in PEM
    wire=redisson                  locks as Redisson has them
    cas=auto|native|module|lua     by which commands locks are taken and given back
    scripts=no                     for servers that run no scripts
    nat=ANNOUNCED/REACHABLE,...    with Sentinel and clusters: the addresses (host:port) at which servers can be
                                   reached, if they announce others
    sentinel_user= sentinel_password= sentinel_tls=yes|no   for the sentinels; user:password are for the servers
  `holdfast doctor` finds out whether the servers are fit for locks.

Password
  The password of the URL, else the file of --password-file, else $HOLDFAST_PASSWORD, else the file
  holdfast-password in $CREDENTIALS_DIRECTORY (systemd's LoadCredential=), else the password_file of the
  configuration. Other users can see the command line (ps), so holdfast warns of a password in --url.
  COMMAND doesn't get the password: HOLDFAST_URL, and REDIS_URL if it was used, have none in its environment, and
  HOLDFAST_PASSWORD is missing. With --pass-url HOLDFAST_URL is the whole URL, for a holdfast in COMMAND.

Configuration files
  ~/.config/holdfast/config ($XDG_CONFIG_HOME/holdfast/config), then /etc/holdfast/config. The first takes
  precedence over the second, and options and the environment over both. Lines are `key = value`, or comments that begin
  with #:
    url = redis://redis.example
    password_file = FILE    the password for the url of this file, or of the second file; a relative
                            name is relative to the folder of this file
    label = TEXT            as --label
    ttl = DURATION          as --ttl
    local = true|false      true: --local, instead of a url; false: no private server on a terminal either

Environment of COMMAND
  HOLDFAST_NAME    the name of the lock; of several the first
  HOLDFAST_TOKEN   the fencing token: a number that grows with each holder of the name. Pass it on with writes
                   to a store that can refuse older tokens. Several names have the same one. Not set if the
                   lock has no tokens.
  HOLDFAST_OWNER   the owner id in Redis
  HOLDFAST_OUTER_n for a holdfast in COMMAND: the locks further out, and the other names of this one

Exit codes
  The exit code of COMMAND. If signal n ended COMMAND, or the wait, holdfast ends by the same signal; shells show
  that as 128+n. Otherwise
  64   bad option, duration, URL, name or configuration file; or no Redis is named
  65   the key NAME in Redis holds something that is not a lock, a lock of another kind, a number
       that never expires, or another number of slots
  69   Redis can't be reached, or refused
  70   internal error; or stdout can't be written to (no space left)
  75   the lock was busy (with --once-per and --at-most-every: 0, as for a job that isn't due); or the holdfast
       in whose COMMAND this one runs holds it
  76   the server is not a Redis
  77   wrong user or password, or a right is missing
  79   the lock was lost, or --max-hold was reached. COMMAND was told to end, whatever its own exit code was; or it
       may have run beside another holder; or it was not started, because the lock was lost just before.
  126  COMMAND can't be executed, or is a script whose interpreter was not found
  127  COMMAND was not found

Examples
  holdfast run nightly-import -- ./import.sh
  holdfast run --no-wait cron:report -- report --daily     # skip it if another host has it
  holdfast run --once-per hour --label 'hourly report' report -- report --hourly   # cron on several hosts
  holdfast run --once-per day --offset 6h --retry-failed backup -- ./backup        # cron every 10 minutes
  holdfast run --slots 3 encoder -- ./encode                     # at most three hosts at a time
  holdfast run --replicas 1 deploy:web -- ./deploy               # begins when a replica has the lock, too
  holdfast run account:7 --with-shared rates --with-slots 2:api -- ./bill 7        # all of them or none
  holdfast run --shared prices -- ./report                       # not while somebody runs --exclusive prices
  holdfast run --no-wait --wait-server 5m warm-up -- ./warm      # at boot, when Redis may come later
  holdfast run --wait 30s --ttl 10s deploy:web -- sh -c 'echo "token $HOLDFAST_TOKEN"; ./deploy'
  holdfast run --url rediss://redis.example --password-file ~/.redis-password migrate -- ./migrate
  holdfast run --url redis+sentinel://s1,s2,s3/mymaster nightly -- ./import.sh)";

inline constexpr std::string_view completion_footer = R"(Examples
  holdfast completion bash > ~/.local/share/bash-completion/completions/holdfast
  holdfast completion zsh > "${fpath[1]}/_holdfast"
  holdfast completion fish > ~/.config/fish/completions/holdfast.fish)";

}  // namespace holdfast::cli
