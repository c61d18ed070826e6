/* The votes and the token rule of a quorum lock on three masters: scripts/quorum, engine/quorum, docs/quorum.md. Requests to different
 * masters overtake one another; a copy that a broken connection left behind may come at any time, and nothing ends that connection.
 * S1: at most one lease is valid. S3: tokens grow from lease to lease.
 *
 * run -DLEASES=2 -DROUNDS=2
 * run -DLEASES=2 -DROUNDS=3 -DCOPIES=1 -DLASTING
 * mutants -DLEASES=2 -DROUNDS=3 -DCOPIES=1 -DLASTING
 * mutant LATE_COPY_CARRIED_OUT   the numbers of requests aren't compared
 * mutants -DLEASES=2 -DROUNDS=2
 * mutant MINORITY                a single vote is enough
 * mutant SMALLEST_TOKEN          the token is the smallest of the votes', not the greatest
 * mutant NOT_LEVELLED            the lease is handed out before a majority has its token
 * mutant KEPT_VOTE_COUNTS        a vote that a release keeps for a waiter counts before it asks
 * mutant VOTE_AFTER_YIELD        a vote counts that is being given back
 * mutant EXPIRED_VOTE_COUNTS     the lease is handed out though its time is over
 */
#ifndef COPIES
#define COPIES 0     /* how many yields of one client to one master are delivered once more, later */
#endif
#define CLIENTS 2
#define MASTERS 3
#ifdef MINORITY
#define MAJORITY 1
#else
#define MAJORITY 2
#endif

typedef of_master { byte at[MASTERS] };

/* Masters. Owner ids: 1 and 2, the clients. In truth each acquisition has its own. So what is left of one that is over is dropped when
 * the next begins: late copies of another owner's requests could only take a free vote for nobody, until its ttl ends. So could a late
 * ask of this one. */
byte lock[MASTERS];
byte counter[MASTERS];
of_master mark[CLIENTS];       /* newest ask: the number with which that owner has got the vote last; 0: its first ask */

/* Clients */
#define none          0
#define ask           1
#define ask_and_yield 2        /* the yield was sent behind the ask, on the same connection */
#define yield         3
#define raise         4
#define release       5
of_master request[CLIENTS];    /* under way */
of_master token[CLIENTS];      /* of the votes that count; 0: it has not that vote */
of_master level[CLIENTS];      /* the master's counter is at the lease's token */
of_master copy[CLIENTS];       /* what a broken connection left behind: a yield */
of_master copy_number[CLIENTS];
byte number[CLIENTS];          /* of the round's asks; its yields have 1 more */
byte seen[CLIENTS];            /* the newest token that the acquisition has seen */
byte told[CLIENTS];            /* the same, as the round's asks say */
byte wanted[CLIENTS];          /* the token of the lease to be */
bool late[CLIENTS];            /* a vote that counts has ended, so the lease's time is over */
bool valid[CLIENTS];
bool waits[CLIENTS];
bool asked[CLIENTS];
byte newest;                   /* token of a lease */
byte copies = COPIES;
byte leases = LEASES;
byte rounds = ROUNDS;

#define ME (c + 1)
#define OTHER (2 - c)
#define VOTES(c)  ((token[c].at[0] != 0) + (token[c].at[1] != 0) + (token[c].at[2] != 0))
#define LEVELS(c) (level[c].at[0] + level[c].at[1] + level[c].at[2])
#define MAX(a, b) (a > b -> a : b)
#define QUIET(c)  (request[c].at[0] == none && request[c].at[1] == none && request[c].at[2] == none)

/* quorum/acquire */
inline do_ask(c, m, n, counts) {
  if
#ifndef LATE_COPY_CARRIED_OUT
  :: n < mark[c].at[m] -> skip
#endif
  :: n >= mark[c].at[m] && (lock[m] == 0 || lock[m] == ME) ->
    lock[m] = ME;
    counter[m] = MAX(counter[m], told[c]) + 1;
    mark[c].at[m] = n;
    if
    :: counts -> token[c].at[m] = counter[m]; seen[c] = MAX(seen[c], counter[m])
    :: else
    fi
  :: else -> skip
  fi
}

/* quorum/yield */
inline do_yield(c, m, n) {
  if
#ifdef LATE_COPY_CARRIED_OUT
  :: lock[m] == ME -> lock[m] = 0
#else
  :: n >= mark[c].at[m] && lock[m] == ME -> lock[m] = 0
#endif
  :: else -> skip
  fi
}

/* quorum/raise */
inline do_raise(c, m) {
  if
  :: lock[m] == ME -> counter[m] = MAX(counter[m], wanted[c]); level[c].at[m] = 1
  :: else -> skip
  fi
}

/* quorum/release: `keeps` says whether the other one is the first in the queue. */
inline do_release(c, m, keeps) {
  if
  :: lock[m] == ME && keeps ->
    lock[m] = OTHER;
#ifdef KEPT_VOTE_COUNTS
    token[1 - c].at[m] = MAX(counter[m], 1)
#endif
  :: lock[m] == ME && !keeps -> lock[m] = 0
  :: else -> skip
  fi
}

proctype master(byte m) {
  byte c;
  do
  :: d_step { lock[m] != 0 && !valid[lock[m] - 1] ->    /* the ttl ends; not before that of a lease that counts the vote */
      c = lock[m] - 1;
      late[c] = late[c] || token[c].at[m] != 0;
      lock[m] = 0;
      c = 0
    }
  od
}

proctype connection(byte c; byte m) {
  do
  :: d_step { copies > 0 && c == 0 && m == 0 && request[c].at[m] == yield ->
      copies--; copy[c].at[m] = yield; copy_number[c].at[m] = number[c] + 1
    }
  :: d_step { copy[c].at[m] == yield -> do_yield(c, m, copy_number[c].at[m]); copy[c].at[m] = none; copy_number[c].at[m] = 0 }
  :: d_step { request[c].at[m] == ask -> request[c].at[m] = none; do_ask(c, m, number[c], true) }
  :: d_step { request[c].at[m] == ask_and_yield ->
      request[c].at[m] = yield;
#ifdef VOTE_AFTER_YIELD
      do_ask(c, m, number[c], true)
#else
      do_ask(c, m, number[c], false)
#endif
    }
  :: d_step { request[c].at[m] == yield -> request[c].at[m] = none; do_yield(c, m, number[c] + 1) }
  :: d_step { request[c].at[m] == raise -> request[c].at[m] = none; do_raise(c, m) }
  :: d_step { request[c].at[m] == release -> request[c].at[m] = none; do_release(c, m, false) }
#ifndef LASTING
  :: d_step { request[c].at[m] == release && waits[1 - c] -> request[c].at[m] = none; do_release(c, m, true) }
#endif
  od
}

inline ask_master(c, m) {
  if
  :: token[c].at[m] == 0 && request[c].at[m] == none -> request[c].at[m] = ask
  :: else
  fi
}

/* All votes that are this client's, or may be. */
inline give_back(c, m) {
  if
  :: request[c].at[m] == ask -> request[c].at[m] = ask_and_yield
  :: request[c].at[m] != ask -> request[c].at[m] = yield
  fi;
#ifndef VOTE_AFTER_YIELD
  token[c].at[m] = 0;
#endif
  level[c].at[m] = 0
}

inline level_master(c, m) {
  if
  :: token[c].at[m] >= wanted[c] -> level[c].at[m] = 1
  :: token[c].at[m] != 0 && token[c].at[m] < wanted[c] && !level[c].at[m] && request[c].at[m] == none ->
    request[c].at[m] = raise
  :: else
  fi
}

inline greatest(c) {
  wanted[c] = MAX(token[c].at[0], token[c].at[1]);
  wanted[c] = MAX(wanted[c], token[c].at[2])
}
inline smallest(c, m) {
  if
  :: token[c].at[m] != 0 && token[c].at[m] < wanted[c] -> wanted[c] = token[c].at[m]
  :: else
  fi
}

inline hand_out(c) {
  assert(!valid[1 - c]);          /* S1 */
  assert(wanted[c] > newest);     /* S3 */
  newest = wanted[c];
  valid[c] = true
}

inline end_of(c, m) {
  request[c].at[m] = release;
  token[c].at[m] = 0;
  level[c].at[m] = 0
}
inline forget(c, m) {
  mark[c].at[m] = 0;
  copy[c].at[m] = none;
  copy_number[c].at[m] = 0
}

#ifdef EXPIRED_VOTE_COUNTS
#define IN_TIME(c)  true
#else
#define IN_TIME(c)  (!late[c])
#endif

#ifdef LASTING
#define MAY_ASK(c)  (c == 0 || !asked[c])    /* the other one asks once */
#else
#define MAY_ASK(c)  true
#endif
#define BUSY(c, m)  (request[c].at[m] >= ask_and_yield)    /* only an ask may be unanswered */

proctype client(byte c) {
  do
  :: d_step { leases > 0 && MAY_ASK(c) && !waits[c] && wanted[c] == 0 && QUIET(c) -> leases--; waits[c] = true }
  /* A round: those masters are asked whose votes it hasn't. The last one has given its votes back, or was ahead of the others. */
  :: d_step { rounds > 0 && MAY_ASK(c) && waits[c] && wanted[c] == 0 && QUIET(c) && VOTES(c) < MAJORITY ->
      rounds--;
      number[c] = (asked[c] -> number[c] + 2 : 0);
      asked[c] = true;
      told[c] = seen[c];
      ask_master(c, 0); ask_master(c, 1); ask_master(c, 2)
    }
  :: d_step { waits[c] && wanted[c] == 0 && VOTES(c) >= MAJORITY ->
      greatest(c);
#ifdef SMALLEST_TOKEN
      smallest(c, 0); smallest(c, 1); smallest(c, 2);
#endif
      level_master(c, 0); level_master(c, 1); level_master(c, 2)
    }
  :: d_step { wanted[c] != 0 && !valid[c] && QUIET(c) && IN_TIME(c) && LEVELS(c) < MAJORITY ->
      level_master(c, 0); level_master(c, 1); level_master(c, 2)
    }
#ifdef NOT_LEVELLED
  :: d_step { wanted[c] != 0 && !valid[c] && waits[c] && IN_TIME(c) -> hand_out(c); waits[c] = false }
#else
  :: d_step { wanted[c] != 0 && !valid[c] && waits[c] && IN_TIME(c) && LEVELS(c) >= MAJORITY -> hand_out(c); waits[c] = false }
#endif
  /* It isn't enough, or its time is over. */
  :: d_step { waits[c] && (VOTES(c) > 0 || !QUIET(c)) && !(BUSY(c, 0) || BUSY(c, 1) || BUSY(c, 2)) ->
      give_back(c, 0); give_back(c, 1); give_back(c, 2);
      wanted[c] = 0;
      late[c] = false
    }
  :: d_step { valid[c] -> valid[c] = false }
  :: d_step { !waits[c] && !valid[c] && wanted[c] != 0 && QUIET(c) ->
      wanted[c] = 0;
      late[c] = false;
      end_of(c, 0); end_of(c, 1); end_of(c, 2);
      forget(c, 0); forget(c, 1); forget(c, 2);
      number[c] = 0;
      asked[c] = false;
      seen[c] = 0;
      told[c] = 0
    }
  od
}

init {
  byte c;
  byte m;
  atomic {
    for (m : 0 .. MASTERS - 1) {
      counter[m] = 2 * m + 1;    /* they have come apart */
#ifndef LASTING      /* a vote's ttl doesn't end */
      run master(m)
#endif
    }
    for (c : 0 .. CLIENTS - 1) {
      run client(c);
      for (m : 0 .. MASTERS - 1) {
        run connection(c, m)
      }
    }
    c = 0;
    m = 0
  }
}
