/* A mutex on the plain wire, one name, while clocks, requests, messages and connections take any time that they like.
 * S1: at most one lease is valid by its holder's clock. S3: no lease is handed out after one with a newer token.
 * L4, L5: who has left leaves nothing, and late copies have no effect.
 *
 * run -DCLIENTS=3 -DONCE
 * run -DBREAKS=1 -DFORCES=1
 * run -DBREAKS=1 -DDEATHS=1
 * mutants -DBREAKS=1 -DFORCES=1
 * mutant TAKEN_FROM_OTHERS       acquire doesn't look who the owner is
 * mutant RENEWED_BY_OTHERS       renew doesn't look who the owner is
 * mutant RELEASED_BY_OTHERS      release deletes without looking who the owner is
 * mutant ENTRY_STAYS             a waiter that leaves stays in the queue
 * mutant LATE_COPY_CARRIED_OUT   the old connection isn't ended before requests are sent again
 * mutant COUNTED_FROM_REPLY      a lease counts from the reply, not from before its request
 * mutant OLD_GRANT_BELIEVED      a grant is believed whatever its token is
 * mutant GRANT_FROM_MESSAGE      a grant counts from its message, not from the last ask before it
 * mutant FULL_TTL_BY_GRANT       a grant counts as a full ttl
 * mutant RENEWED_WHILE_SILENT    a renewal counts before it is answered
 */
#ifndef CLIENTS
#define CLIENTS 2    /* each acquires the lock again and again; with ONCE, once */
#endif
#ifndef BREAKS
#define BREAKS 0     /* how many connections break while a request is under way */
#endif
#ifndef DEATHS
#define DEATHS 0     /* how many clients die */
#endif
#ifndef FORCES
#define FORCES 0     /* how many times the key is deleted under its owner */
#endif
#define IDS (2 * CLIENTS)
#define TTL 2        /* ticks */
#define GRANT 1

#define CLIENT_OF(o)  ((o - 1) / 2)
#define tell(o)       skip    /* a waiter may ask at any time, told or not */
#define HEARS(o)      (listening[CLIENT_OF(o)] && !dead[CLIENT_OF(o)])

#include "server.pml"
#include "client.pml"

/* One tick for all: clocks whose rates differ by less than the drift allowance, which is taken off a lease, are alike. */
proctype clock() {
  do
  :: d_step {
      expire();
      age_by_tick(0);
      age_by_tick(1);
#if CLIENTS == 3
      age_by_tick(2)
#endif
    }
  od
}

/* Release by force, or a server that loses all: until its next renewal the holder doesn't know. */
proctype somebody() {
  do
  :: d_step { forces > 0 && lock != 0 -> forces--; forced[lock] = true; wake_next(true, 0) }
  :: d_step { forces > 0 && lock != 0 ->
      forces--;
      forced[lock] = true;
      lock = 0;
      left = 0;
      do
      :: lines > 0 -> lines--; queued[line[lines]] = false; line[lines] = 0
      :: else -> break
      od;
      at = 0
    }
  od
}

init {
  atomic {
    byte c;
    for (c : 0 .. CLIENTS - 1) {
      request[c] = none;
      reply[c] = none;
      copy[c] = none;
      age[c] = TTL;
      heard[c] = TTL;
      run network(c);
      run client(c)
    }
    c = 0;
    run clock();
    if
    :: forces > 0 -> run somebody()
    :: else
    fi
  }
}
