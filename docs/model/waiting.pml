/* Waiting for a mutex on the plain wire, where a request takes no time: time passes when nobody has anything to do.
 * L1: a lock that is free and waited for is taken at once, if a message was lost within a re-check; and at once when the ttl of a
 * dead holder ends. L3: nobody overtakes a waiter that has waited for the starvation limit.
 *
 * run
 * run -DDEATHS=2
 * run -DLOSSES=2 -DDEATHS=1
 * mutants -DLOSSES=1 -DDEATHS=1
 * mutant WAKE_UP_NOT_PASSED_ON   a waiter that was woken leaves, and tells nobody
 * mutant SILENT_RELEASE          a release deletes the key, and tells nobody
 * mutant DEAD_COUNT_AS_HEARD     a message that nobody heard counts as heard
 * mutant ASKS_BEFORE_IT_LISTENS  a waiter doesn't ask again when its inbox is open
 * mutant SLEEPS_BEYOND_TTL       a waiter sleeps for a re-check, however soon the holder's ttl ends
 * mutant NO_RECHECK              a waiter sleeps until a message comes or the ttl that it was told ends
 * mutant NO_STARVATION_LIMIT     a release wakes the first waiter, however long it has waited
 * mutant PLACE_LOST              a waiter that was woken in vain gets a new ticket
 */
#ifndef LOSSES
#define LOSSES 0     /* how many messages are lost */
#endif
#ifndef DEATHS
#define DEATHS 0     /* how many clients die */
#endif
#define CLIENTS 3
#define IDS 3        /* no message is late here, so an owner id can be used again */
#define TTL 4        /* ticks; as in the library the re-check is shorter than a grant, and that than a ttl */
#define GRANT 3
#define RECHECK 2
#define LIMIT 2      /* starvation_limit */

bool listening[CLIENTS];
bool dead[CLIENTS];
bool woken[IDS + 1];        /* a message "woken" is there */
bool waits[CLIENTS];        /* the client sleeps */
byte timer[CLIENTS];        /* until then */
byte waited[CLIENTS];       /* since its first ask, up to LIMIT */
byte ticket[IDS + 1];       /* how long the owner has waited by its ticket, up to LIMIT */
bool still[CLIENTS];        /* nothing to do until time passes */
bool trouble;               /* a message was lost, so that the re-check has to help */
bool expired;               /* the lock is free since its key expired */
byte free_for;              /* ticks, while somebody waits */
byte losses = LOSSES;
byte deaths = DEATHS;

#define CLIENT_OF(o)   (o - 1)
#ifdef DEAD_COUNT_AS_HEARD
#define HEARS(o)       true
#else
#define HEARS(o)       (listening[CLIENT_OF(o)] && !dead[CLIENT_OF(o)])
#endif
#define tell(o)        woken[o] = true
#ifdef NO_STARVATION_LIMIT
#define STARVED        false
#else
#define STARVED        (ticket[owner_at] >= LIMIT)
#endif

/* L3. Where a key expired, or a message was lost, there was no release that could grant the lock. */
#define STARVES(c)     (waits[c] && waited[c] >= LIMIT)
inline on_renewed(o) { skip }
inline on_given(o) {
  assert(waited[CLIENT_OF(o)] >= LIMIT || !(STARVES(0) || STARVES(1) || STARVES(2)) || expired || trouble);
  expired = false;
  free_for = 0
}

#include "server.pml"

#define ME (c + 1)

inline let_go(c) {
#ifdef SILENT_RELEASE
  lock = 0;
  left = 0
#else
  do_release(ME, STARVED)
#endif
}

inline come_to_ask(c) {
#ifdef PLACE_LOST
  if
  :: woken[ME] -> forget_ticket(ME); ticket[ME] = 0
  :: else
  fi;
#endif
  waits[c] = false;
  woken[ME] = false;
  do_acquire(ME, true);
  older[ME] = false;    /* no message is late */
  got = answer;
  answer = 0
}

inline sleep(c) {
  waits[c] = true;
#ifdef SLEEPS_BEYOND_TTL
  timer[c] = RECHECK
#elif defined NO_RECHECK
  timer[c] = left
#else
  timer[c] = (left < RECHECK -> left : RECHECK)
#endif
}

inline end_wait(c) {
  if
  :: !queued[ME] -> forget_ticket(ME)
  :: else
  fi;
  waits[c] = false;
  woken[ME] = false;
  fresh[ME] = false;
  timer[c] = 0;
  waited[c] = 0;
  ticket[ME] = 0
}

inline die(c) {
  end_wait(c);
  deaths--;
  dead[c] = true;
  still[c] = false
}

proctype client(byte c) {
  mtype got;

idle:
  atomic {
    if
    :: !still[c] -> still[c] = true; goto idle
    :: !still[c]
    fi
  };

asking:
  atomic {
    d_step { come_to_ask(c) };
    if
    :: got == granted -> got = 0; d_step { end_wait(c) }; goto holding
    :: got == busy && listening[c] -> got = 0; d_step { sleep(c) }; goto waiting
    :: got == busy && !listening[c] -> got = 0
    fi
  };
  atomic { true ->
    listening[c] = true;
#ifdef ASKS_BEFORE_IT_LISTENS
    d_step { sleep(c) };
    goto waiting
#else
    goto asking
#endif
  };

waiting:
  atomic {
    if
    :: woken[ME] || timer[c] == 0 -> goto asking
    :: fresh[ME] -> assert(lock == ME); d_step { end_wait(c) }; goto holding
    :: !still[c] -> still[c] = true; goto waiting
    :: !still[c] -> still[c] = true; d_step { do_abandon(ME, STARVED); answer = 0; end_wait(c) }; goto idle
    :: losses > 0 && woken[ME] -> losses--; trouble = true; woken[ME] = false; goto waiting
    :: losses > 0 && fresh[ME] -> losses--; trouble = true; fresh[ME] = false; goto waiting
    :: deaths > 0 && !still[c] && !woken[ME] && !fresh[ME] -> d_step { die(c) }; goto end
    fi
  };

holding:
  atomic {
    if
    :: !still[c] -> still[c] = true; d_step { do_renew(ME); answer = 0 }; goto holding
    :: !still[c] -> d_step { let_go(c); answer = 0 }; goto idle
    :: deaths > 0 && !still[c] -> d_step { die(c) }; goto end
    fi
  };

end:
  skip
}

inline pass_time(c) {
  still[c] = false;
  if
  :: timer[c] > 0 -> timer[c]--
  :: else
  fi;
  if
  :: waits[c] && waited[c] < LIMIT -> waited[c]++
  :: else
  fi;
  if
  :: waits[c] && ticket[ME] < LIMIT -> ticket[ME]++
  :: else
  fi
}

proctype clock() {
  byte c;
  do
  :: timeout -> d_step {
      if
      :: lock == 0 && (waits[0] || waits[1] || waits[2]) -> free_for++
      :: else -> free_for = 0
      fi;
      assert(free_for <= (trouble && !expired -> RECHECK : 0));    /* L1 */
      if
      :: left == 1 -> expired = true
      :: else
      fi;
      if
      :: left > 1 -> left--
      :: else -> left = 0; lock = 0
      fi;
      for (c : 0 .. CLIENTS - 1) {
        pass_time(c)
      }
      c = 0
    }
  od
}

init {
  atomic {
    run client(0);
    run client(1);
    run client(2);
    run clock()
  }
}
