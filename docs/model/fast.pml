/* Fencing tokens of a mutex on one server, with the fast path (decision 21): MULTI, SET NX, INCR, EXEC for a name whose counter is near
 * the clock; otherwise, or when the answer doesn't decide, exclusive/acquire. Keys expire, connections break, the counter is evicted,
 * all keys are deleted, a replica that lags takes over.
 * S3: tokens grow from lease to lease, also over all those losses. S1: as long as the server keeps what it acknowledged.
 *
 * run -DLOSSES=1 -DFAILOVERS=0
 * run -DLOSSES=0 -DFAILOVERS=1
 * mutants -DLOSSES=1 -DFAILOVERS=0
 * mutant TAKES_WHAT_IS_HELD       SET without NX
 * mutant BUSY_NOT_SEEN            only the token is looked at, not whether SET took the lock
 * mutant TOKEN_NOT_COMPARED       the token isn't compared with the newest one that the client knows
 * mutant COUNTER_NOT_RAISED       the script goes on where the counter is, or at 1, instead of at the clock
 * mutant NEW_OWNER_BY_SCRIPT      the script that follows asks as another owner
 * mutant EXPIRED_COUNTS           the answer counts also when its ttl is over
 * mutants -DLOSSES=0 -DFAILOVERS=1
 * mutant BREAK_NOT_NOTED          the fast path goes on over a new connection
 */
#ifndef LOSSES
#define LOSSES 1
#endif
#ifndef FAILOVERS
#define FAILOVERS 1
#endif
#define CLIENTS 2
#define START 10     /* the server's clock; INCR of a lost counter gives less */
#define END 22       /* it moves by 2 with each acquisition, which takes microseconds; so there are 6 */

byte now = START;
byte lock;
byte counter;        /* 0: there is none */
byte old_lock;       /* what the replica has */
byte old_counter;

bool near[CLIENTS];      /* a script has set the counter to the clock a moment ago, over this connection */
bool cut[CLIENTS];       /* the connection leads to a server that is no more */
byte known[CLIENTS];     /* the newest token that the client knows */
bool late[CLIENTS];      /* the key expired before the answer was read */
bool valid[CLIENTS];
byte base[CLIENTS];      /* the newest token of a lease when the request was carried out */
byte newest;             /* token of a lease */
bool spoilt;             /* the server has lost a lock */
byte losses = LOSSES;
byte failovers = FAILOVERS;

#define ME (c + 1)

/* take_tokens, of one token */
inline take_token(token) {
#ifdef COUNTER_NOT_RAISED
  token = counter + 1;
#else
  token = (counter >= now -> counter + 1 : (counter == 0 -> now + 1 : now));
#endif
  counter = token
}

inline hand_out(c, token) {
  assert(token > base[c]);                                       /* S3 */
  assert(spoilt || !(valid[0] || valid[1]));         /* S1 */
  valid[c] = true;
  newest = (token > newest -> token : newest);
  known[c] = token;
  base[c] = 0;
  late[c] = false;
  token = 0
}

/* A request is carried out. */
#define SERVED(c)  (now < END && !cut[c])
inline begin(c) {
  token = 0;
  now = now + 2;
  base[c] = newest;
  late[c] = false
}

inline reconnect(c) {
  cut[c] = false;
#ifndef BREAK_NOT_NOTED
  near[c] = false
#endif
}

proctype client(byte c) {
  byte token;
  bool taken;

idle:
  atomic { true ->
    token = 0;
    base[c] = 0;
    taken = false;
    if
    :: near[c] -> goto fast
    :: !near[c] -> goto script
    fi
  };

fast:
  if
  :: d_step { SERVED(c) ->
      begin(c);
      counter++;
      token = counter;
#ifdef TAKES_WHAT_IS_HELD
      taken = true;
      lock = ME
#else
      taken = (lock == 0);
      lock = (lock == 0 -> ME : lock)
#endif
    }
  :: atomic { cut[c] -> reconnect(c) } -> goto script
  fi;
  if
  :: d_step { true ->                                          /* the answer */
#ifdef BUSY_NOT_SEEN
      taken = true;
#endif
#ifdef EXPIRED_COUNTS
      late[c] = false;
#endif
#ifdef TOKEN_NOT_COMPARED
      taken = taken && !late[c];
#else
      taken = taken && !late[c] && token > known[c];
#endif
      if
      :: taken -> hand_out(c, token)
      :: else -> near[c] = false
      fi
    }
  :: atomic { true -> taken = false; reconnect(c) }            /* the connection breaks before it */
  fi;
  if
  :: taken -> goto holding
  :: else
  fi;

script:
  if
  :: d_step { SERVED(c) ->
      begin(c);
#ifdef NEW_OWNER_BY_SCRIPT
      taken = (lock == 0);
#else
      taken = (lock == 0 || lock == ME);
#endif
      if
      :: taken -> lock = ME; take_token(token)
      :: else
      fi
    }
  :: atomic { cut[c] -> reconnect(c) } -> goto script
  fi;
  if
  :: d_step { taken && !late[c] -> hand_out(c, token); near[c] = true } -> goto holding
  :: atomic { taken && late[c] } -> goto script                /* it was over when it came */
  :: atomic { !taken -> skip } -> goto waiting
  :: atomic { true -> reconnect(c) } -> goto script
  fi;

waiting:
#ifdef NEW_OWNER_BY_SCRIPT
  assert(lock != ME);    /* held by nobody */
#endif
  if
  :: atomic { lock == 0 || lock == ME } -> goto script
  :: goto idle
  fi;

holding:
  if
  :: atomic { true -> valid[c] = false }
  fi;
  if
  :: d_step { !cut[c] -> lock = (lock == ME -> 0 : lock) } -> goto idle
  :: atomic { cut[c] -> reconnect(c) } -> goto idle            /* it is gone with its ttl */
  fi
}

/* A key isn't gone before its lease is over: docs/model/exclusive.pml. */
proctype ttl() {
  do
  :: d_step { lock != 0 && !valid[lock - 1] -> late[lock - 1] = true; lock = 0 }
  od
}

proctype somebody() {
  do
  :: d_step { losses > 0 -> losses--; counter = 0 }                                  /* evicted */
  :: d_step { losses > 0 -> losses--; counter = 0; lock = 0; spoilt = true }         /* FLUSHALL */
  :: d_step { failovers > 0 && old_counter == 0 && counter != 0 ->    /* once: only the last time matters */
      old_lock = lock;
      old_counter = counter
    }
  :: d_step { failovers > 0 ->
      failovers--;
      lock = old_lock;
      counter = old_counter;
      spoilt = true;
      cut[0] = true;
      cut[1] = true;
      old_lock = 0;
      old_counter = 0
    }
  od
}

init {
  atomic {
    run client(0);
    run client(1);
    run ttl();
    if
    :: LOSSES + FAILOVERS > 0 -> run somebody()
    :: else
    fi
  }
}
