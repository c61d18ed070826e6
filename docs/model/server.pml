/* The plain wire's server, for one name: scripts/exclusive, scripts/fair/acquire, and scripts/include/wake_next.
 * A script is one step. IDS owner ids; owner 0 is nobody. */

#include "queue.pml"

byte lock;               /* the lock's key: an owner id */
byte left;               /* ticks until that key expires */

/* Messages "granted", under way. What the client compares is the message's token and the counter of its last busy reply:
 * that is, whether the grant came after the ask that was answered. So the token is kept as one of three ages. */
bool fresh[IDS + 1];     /* granted after the last ask that was carried out */
bool older[IDS + 1];     /* before that, but after the last ask whose answer the client has read */
bool stale[IDS + 1];     /* before that */

byte answer;             /* of the script that was carried out last */

mtype = { none, ask, try, renew, release, abandon, granted, busy, done, lost };

inline give_lock(o, ticks) {
  lock = o;
  left = ticks;
  on_given(o)
}

/* wake_next: `starved` says whether the first waiter has waited for the starvation limit; `self` asks, and is told by the reply. */
inline wake_next(starved, self) {
  lock = 0;
  left = 0;
  at = 0;
  do
  :: at >= lines -> break
  :: else ->
    owner_at = line[at];
    if
    :: !queued[owner_at] -> at++
    :: queued[owner_at] && owner_at == self -> queued[self] = false; break
    :: queued[owner_at] && owner_at != self && !HEARS(owner_at) -> forget_ticket(owner_at)
    :: queued[owner_at] && owner_at != self && HEARS(owner_at) ->
#ifndef ENTRY_STAYS
      queued[owner_at] = false;
#endif
      if
      :: starved -> give_lock(owner_at, GRANT); fresh[owner_at] = true
      :: else -> tell(owner_at)
      fi;
      break
    fi
  od;
  at = 0;
  owner_at = 0
}

/* exclusive/acquire. `join`: the mode. */
inline do_acquire(o, join) {
  if
#ifdef TAKEN_FROM_OTHERS
  :: true ->
#else
  :: lock == 0 || lock == o ->
#endif
    if
    :: lock != o -> give_lock(o, TTL)
    :: else -> left = TTL
    fi;
#ifdef ENTRY_STAYS
    at = 0;
#else
    forget_ticket(o);
#endif
    answer = granted
  :: else ->
    if
    :: join -> take_ticket(o); queued[o] = true
    :: else
    fi;
    older[o] = older[o] || fresh[o];
    fresh[o] = false;
    answer = busy
  fi
}

/* exclusive/release */
inline do_release(o, starved) {
  if
#ifdef RELEASED_BY_OTHERS
  :: lock != 0 -> wake_next(starved, 0); answer = done
#else
  :: lock == o -> wake_next(starved, 0); answer = done
#endif
  :: else -> answer = lost
  fi
}

/* exclusive/abandon */
inline do_abandon(o, starved) {
  if
  :: lock == o -> queued[o] = false; wake_next(starved, 0); answer = done
#ifndef WAKE_UP_NOT_PASSED_ON
  :: lock == 0 && !queued[o] -> wake_next(starved, 0); answer = lost
#endif
  :: else -> answer = lost
  fi;
#ifndef ENTRY_STAYS
  forget_ticket(o)
#endif
}

/* exclusive/renew */
inline do_renew(o) {
  if
#ifdef RENEWED_BY_OTHERS
  :: true ->
#else
  :: lock == o ->
#endif
    left = (lock != 0 -> TTL : 0);
    on_renewed(o);
    answer = done
  :: else -> answer = lost
  fi
}
