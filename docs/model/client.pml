/* A client of the plain wire, and its connection. It acquires the lock again and again, each time as another owner. An owner id
 * that nothing mentions any more is as good as a new one, so two for each client are enough. */

mtype request[CLIENTS];     /* that the client has sent, and waits for */
mtype reply[CLIENTS];       /* to it, if it was carried out */
bool broken[CLIENTS];       /* the connection; the next one isn't there yet */
mtype copy[CLIENTS];        /* what the old connection may still carry, if there was an unanswered request */
byte copy_owner[CLIENTS];

byte own[CLIENTS];          /* the owner id of the acquisition; 0: none */
byte age[CLIENTS];          /* ticks since the last request that gives a ttl was sent, up to TTL */
byte heard[CLIENTS];        /* ticks since the ask was sent that was answered by the last busy reply, up to TTL */
byte valid[CLIENTS];        /* ticks until the lease is over by its holder's clock; 0: there is none */
bool listening[CLIENTS];    /* to its inbox of the lock */
bool dead[CLIENTS];
bool forced[IDS + 1];       /* the key was deleted under that owner, which hasn't been told yet */
byte breaks = BREAKS;
byte deaths = DEATHS;
byte forces = FORCES;

#define HOLDS(c)      (valid[c] != 0 && !forced[own[c]])
#define MENTIONED(o)  (lock == o || queued[o] || copy_owner[CLIENT_OF(o)] == o)

/* So says the server. */
inline on_given(o) { forced[o] = false }
inline on_renewed(o) { forced[o] = false }

/* Safety: S1; and S3, since the token of the lock's owner is the newest. */
inline hand_out(c, ticks) {
  valid[c] = ticks;
  assert(lock == own[c] || forced[own[c]]);
#if CLIENTS == 3
  assert(HOLDS(0) + HOLDS(1) + HOLDS(2) <= 1)
#else
  assert(HOLDS(0) + HOLDS(1) <= 1)
#endif
}

inline carry_out(what, o, starved) {
  if
  :: what == ask ->
    assert(own[CLIENT_OF(o)] == o || dead[CLIENT_OF(o)]);    /* L5: not behind its release */
    do_acquire(o, true)
  :: what == renew -> do_renew(o)
  :: what == release -> do_release(o, starved)
  :: what == abandon -> do_abandon(o, starved)
  fi
}

#define UNDER_WAY(c)  (request[c] != none && reply[c] == none && !broken[c])

inline serve(c, starved) {
  carry_out(request[c], own[c], starved);
  reply[c] = answer;
  answer = 0
}

/* Whether the first waiter has waited for long enough is left open: the one or the other. */
proctype network(byte c) {
  do
  :: d_step { UNDER_WAY(c) -> serve(c, true) }
  :: d_step { UNDER_WAY(c) && (request[c] == release || request[c] == abandon) -> serve(c, false) }
  :: d_step { copy[c] != none ->
      carry_out(copy[c], copy_owner[c], true);
      answer = 0;
      copy[c] = none;
      copy_owner[c] = 0
    }
  :: d_step { breaks > 0 && request[c] != none && !broken[c] ->
      breaks--;
      broken[c] = true;
      if
      :: reply[c] == none -> copy[c] = request[c]; copy_owner[c] = own[c]
      :: else -> reply[c] = none
      fi
    }
  :: d_step { broken[c] ->    /* CLIENT KILL goes first */
      broken[c] = false;
#ifndef LATE_COPY_CARRIED_OUT
      copy[c] = none;
      copy_owner[c] = 0
#endif
    }
  od
}

inline send(c, what) {
  request[c] = what;
  age[c] = 0
}

/* The reply has been read, or, of one that is for nobody, is ignored. */
inline read(c) {
  request[c] = none;
  reply[c] = none;
  age[c] = TTL
}

inline on_busy(c, o) {
#ifdef OLD_GRANT_BELIEVED
  stale[o] = stale[o] || older[o];
#endif
  older[o] = false;
  heard[c] = age[c];
  read(c)
}

#ifdef OLD_GRANT_BELIEVED
#define NEWER_THAN_COUNTER(o)  (fresh[o] || older[o] || stale[o])
#else
#define NEWER_THAN_COUNTER(o)  (fresh[o] || older[o])
#endif
#ifdef GRANT_FROM_MESSAGE
#define LEFT_OF_GRANT(c)       GRANT
#elif defined FULL_TTL_BY_GRANT
#define LEFT_OF_GRANT(c)       (TTL - heard[c])
#else
#define LEFT_OF_GRANT(c)       (heard[c] < GRANT -> GRANT - heard[c] : 0)
#endif
#ifdef COUNTED_FROM_REPLY
#define LEFT_OF_REPLY(c)       TTL
#else
#define LEFT_OF_REPLY(c)       (TTL - age[c])
#endif

/* None of them is believed any more. */
inline forget_messages(c, o) {
  fresh[o] = false;
  older[o] = false;
  stale[o] = false;
  heard[c] = TTL
}

/* The acquisition is over. What is under way to it is read by nobody. */
inline leave(c, o) {
  if
  :: !queued[o] -> forget_ticket(o)
  :: else
  fi;
  read(c);
  forget_messages(c, o);
  forced[o] = false;
  own[c] = 0;
  valid[c] = 0;
  listening[c] = false;
  o = 0
}

proctype client(byte c) {
  byte o;
  bool stray;    /* the ask that was under way when a message brought the lock may have left it in the queue */

idle:
  atomic {
    !MENTIONED(2 * c + 1) || !MENTIONED(2 * c + 2) ->
    if
    :: !MENTIONED(2 * c + 1) -> o = 2 * c + 1
    :: else -> o = 2 * c + 2
    fi;
    own[c] = o;
    send(c, ask)
  }

waiting:
  if
  :: d_step { reply[c] == granted && LEFT_OF_REPLY(c) > 0 -> hand_out(c, LEFT_OF_REPLY(c)); read(c); forget_messages(c, o) } ->
    goto holding
  :: d_step { reply[c] == granted && LEFT_OF_REPLY(c) == 0 -> read(c); send(c, ask) } ->    /* it was over when it came */
    goto waiting
  :: d_step { reply[c] == busy && !listening[c] -> on_busy(c, o); listening[c] = true; send(c, ask) } ->
    goto waiting
  :: d_step { reply[c] == busy && listening[c] -> on_busy(c, o) } ->
    goto waiting
  :: d_step { request[c] == none -> send(c, ask) } ->    /* told, or the re-check */
    goto waiting
  :: d_step { listening[c] && NEWER_THAN_COUNTER(o) && LEFT_OF_GRANT(c) > 0 ->
      hand_out(c, LEFT_OF_GRANT(c));
      forget_messages(c, o)
    } -> goto holding
  :: d_step { request[c] == none -> send(c, abandon) } ->    /* had enough */
    goto leaving
  :: d_step { deaths > 0 -> deaths--; dead[c] = true; valid[c] = 0 } -> goto end
  fi;

holding:    /* a request may be under way: an ask, if a message brought the grant, or a renewal */
  if
  :: d_step { request[c] == renew && reply[c] == done && LEFT_OF_REPLY(c) > 0 ->
      hand_out(c, LEFT_OF_REPLY(c));
      read(c)
    } -> goto holding
  :: d_step { request[c] == renew && (reply[c] == lost || (reply[c] == done && LEFT_OF_REPLY(c) == 0)) ->
      read(c);
      valid[c] = 0
    } -> goto letting_go
  :: d_step { request[c] == ask && reply[c] != none ->    /* its lease is there already, and perhaps gone */
      stray = (reply[c] == busy);
      read(c)
    } -> goto holding
  :: d_step { request[c] == none && valid[c] > 0 ->
      send(c, renew)
#ifdef RENEWED_WHILE_SILENT
      ;
      valid[c] = TTL
#endif
    } -> goto holding
  :: d_step { valid[c] == 0 } -> goto letting_go    /* the deadline */
  :: d_step { valid[c] > 0 -> valid[c] = 0 } -> goto letting_go
  :: d_step { deaths > 0 -> deaths--; dead[c] = true; valid[c] = 0 } -> goto end
  fi;

letting_go:    /* behind the request that is under way, on the same connection */
  atomic { request[c] == none || reply[c] != none ->
    stray = stray || request[c] == ask;
    read(c);
    send(c, release)
  };
  if
  :: d_step { stray && reply[c] != none -> stray = false; read(c); send(c, abandon) }
  :: !stray
  fi;

leaving:
  atomic { reply[c] != none ->
    assert(lock != o && !queued[o]);    /* L4 */
    leave(c, o)
  };
#ifndef ONCE
  goto idle;
#endif

end:
  skip
}

inline age_by_tick(c) {
  if
  :: age[c] < TTL -> age[c]++
  :: else
  fi;
  if
  :: heard[c] < TTL -> heard[c]++
  :: else
  fi;
  if
  :: valid[c] > 0 -> valid[c]--
  :: else
  fi
}

inline expire() {
  if
  :: left > 1 -> left--
  :: else -> left = 0; lock = 0
  fi
}
