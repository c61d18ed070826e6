/* A read-write lock on the plain wire: scripts/fair/acquire for writers, scripts/shared for readers, without upgrade leases. A request
 * takes no time; a client reads or writes, as it likes. What delays do to leases is in exclusive.pml, and is alike here.
 * S1: who writes is alone. L1: a lock that is free and waited for is taken at once, if a message was lost within a re-check.
 * L3: nobody goes past a waiter that came earlier, but readers past readers; readers don't wait for a writer that is dead.
 *
 * run
 * run -DDEATHS=1
 * run -DLOSSES=1
 * mutants -DDEATHS=1
 * mutant READS_BESIDE_WRITER     a reader goes in while another writes
 * mutant WRITES_BESIDE_READERS   a writer doesn't look whether others read
 * mutant READERS_OVERTAKE        a reader goes in while others read, whoever waits
 * mutant NEWCOMER_OVERTAKES      a free lock goes to whoever asks first
 * mutant TTL_OF_LAST_READER      the lock lives as long as the hold that was set last
 * mutant FIRST_OUT_FREES         a reader that leaves frees the lock for all
 * mutant LAST_OUT_SILENT         the last reader out tells nobody
 * mutant LEAVING_WRITER_SILENT   a writer that leaves the queue lets no readers in
 * mutant DEAD_WRITER_STAYS       a dead writer stays at the head of the queue while others read
 */
#ifndef LOSSES
#define LOSSES 0
#endif
#ifndef DEATHS
#define DEATHS 0
#endif
#define CLIENTS 3
#define IDS 3
#define TTL 3        /* ticks */
#define GRANT 2
#define RECHECK 1
#define READERS 9    /* the word in the lock's key */

#define ME (c + 1)
#define HEARS(o)     (listening[o - 1] && !dead[o - 1])

#include "queue.pml"

byte lock;
byte left;
bool in[IDS + 1];            /* the set of readers */
byte until[IDS + 1];         /* ticks that they have left */
bool granted_by[IDS + 1];    /* a message "granted" is there */

bool reads[IDS + 1];         /* what the owner wants */
bool listening[CLIENTS];
bool dead[CLIENTS];
bool waits[CLIENTS];
byte timer[CLIENTS];
bool still[CLIENTS];         /* nothing to do until time passes */
byte valid[CLIENTS];
bool got;                    /* by the request that was carried out last */
bool let_in;                 /* by let_readers_in */
bool trouble;                /* a message was lost */
byte free_for;
byte vain_for;               /* ticks for which readers have waited behind nobody while others read */
byte losses = LOSSES;
byte deaths = DEATHS;

#define PASSED(w, o)   (waits[w - 1] && queued[w] && !(reads[w] && reads[o]))
#define EMPTY          (!queued[1] && !queued[2] && !queued[3])

/* L3: `o` gets the lock. */
inline on_given(o) {
  at = 0;
  do
  :: at < lines && line[at] != o -> assert(!PASSED(line[at], o)); at++
  :: else -> break
  od;
  at = 0;
  free_for = 0
}

inline longest(o) {
  if
  :: in[o] && until[o] > left -> left = until[o]
  :: else
  fi
}
inline settle(o) {
#ifdef TTL_OF_LAST_READER
  left = until[o]
#else
  left = 0;
  longest(1);
  longest(2);
  longest(3)
#endif
}

inline nobody_in() {
  in[1] = false; in[2] = false; in[3] = false;
  until[1] = 0; until[2] = 0; until[3] = 0
}

/* let_readers_in: those at the head of the queue, up to the first writer. */
inline let_readers_in(self) {
  let_in = false;
  at = 0;
  do
  :: at >= lines -> break
  :: at < lines && !queued[line[at]] -> at++
  :: at < lines && queued[line[at]] && !reads[line[at]] -> break
  :: at < lines && queued[line[at]] && reads[line[at]] ->
    owner_at = line[at];
    if
    :: owner_at == self || HEARS(owner_at) ->
      if
      :: lock != READERS -> nobody_in(); lock = READERS
      :: else
      fi;
      on_given(owner_at);
      in[owner_at] = true;
      until[owner_at] = GRANT;
      granted_by[owner_at] = (owner_at != self);
      queued[owner_at] = false;
      settle(owner_at);
      let_in = true
    :: else -> forget_ticket(owner_at)
    fi;
    at = 0
  od;
  at = 0;
  owner_at = 0
}

/* wake_next, of a lock that is free, or about to be; with a starvation limit of 0, so the first one always gets it. */
inline wake_next(self) {
  lock = 0;
  left = 0;
  at = 0;
  do
  :: at >= lines -> break
  :: at < lines && !queued[line[at]] -> at++
  :: at < lines && queued[line[at]] && reads[line[at]] ->
    let_readers_in(self);
    if
    :: let_in -> break
    :: else
    fi
  :: at < lines && queued[line[at]] && !reads[line[at]] && line[at] == self -> break
  :: at < lines && queued[line[at]] && !reads[line[at]] && line[at] != self ->
    owner_at = line[at];
    if
    :: HEARS(owner_at) ->
      on_given(owner_at);
      lock = owner_at;
      left = GRANT;
      granted_by[owner_at] = true;
      queued[owner_at] = false;
      break
    :: else -> forget_ticket(owner_at)
    fi
  od;
  at = 0;
  owner_at = 0;
  let_in = false
}

/* fair/acquire */
inline do_write(c) {
  got = false;
  if
#ifdef WRITES_BESIDE_READERS
  :: lock != ME && lock != READERS && (lock != 0 || !EMPTY) ->
#else
  :: lock != ME && (lock != 0 || !EMPTY) ->
#endif
    take_ticket(ME);
    queued[ME] = true;
    if
#ifdef NEWCOMER_OVERTAKES
    :: false
#else
    :: lock == 0 -> wake_next(ME)
#endif
    :: else
    fi;
    got = (lock == 0)
  :: else -> got = true
  fi;
  if
  :: got ->
    if
    :: lock != ME -> on_given(ME)
    :: else
    fi;
    lock = ME;
    left = TTL;
    forget_ticket(ME)
  :: else
  fi
}

inline drop_dead_writers() {
#ifndef DEAD_WRITER_STAYS
  at = 0;
  do
  :: at >= lines -> break
  :: at < lines && !queued[line[at]] -> at++
  :: at < lines && queued[line[at]] && !reads[line[at]] && dead[line[at] - 1] -> owner_at = line[at]; forget_ticket(owner_at)
  :: at < lines && queued[line[at]] && (reads[line[at]] || !dead[line[at] - 1]) -> break
  od;
  owner_at = 0;
#endif
  at = 0
}

/* shared/acquire */
inline do_read(c) {
  got = (lock == READERS && in[ME]);
  if
#ifdef READS_BESIDE_WRITER
  :: !got && !EMPTY ->
#elif defined READERS_OVERTAKE
  :: !got && lock != READERS && (lock != 0 || !EMPTY) ->
#else
  :: !got && ((lock != 0 && lock != READERS) || !EMPTY) ->
#endif
    take_ticket(ME);
    queued[ME] = true;
    if
    :: lock == 0 -> wake_next(ME)
    :: lock == READERS -> drop_dead_writers(); let_readers_in(ME); let_in = false
    :: else
    fi;
    got = lock == 0 || (lock == READERS && (in[ME] || EMPTY))
  :: else -> got = true
  fi;
  if
  :: got ->
    if
    :: !(lock == READERS && in[ME]) -> on_given(ME)
    :: else
    fi;
    if
    :: lock != READERS -> nobody_in()
    :: else
    fi;
    lock = READERS;
    in[ME] = true;
    until[ME] = TTL;
    settle(ME);
    forget_ticket(ME)
  :: else
  fi
}

/* after_reader, behind a reader that has left */
inline after_reader(c) {
  in[ME] = false;
  until[ME] = 0;
#ifdef FIRST_OUT_FREES
  left = 0;
#else
  settle(ME);
#endif
  if
  :: left == 0 ->
    nobody_in();
#ifdef LAST_OUT_SILENT
    lock = 0
#else
    wake_next(0)
#endif
  :: else
  fi
}

/* shared/release, exclusive/release */
inline do_release(c) {
  if
  :: reads[ME] && lock == READERS && in[ME] -> after_reader(c)
  :: !reads[ME] && lock == ME -> wake_next(0)
  :: else
  fi
}

/* shared/abandon, exclusive/abandon */
inline do_abandon(c) {
  if
  :: reads[ME] && lock == READERS && in[ME] -> queued[ME] = false; after_reader(c)
  :: !reads[ME] && lock == ME -> queued[ME] = false; wake_next(0)
  :: lock == 0 && !queued[ME] -> wake_next(0)
#ifndef LEAVING_WRITER_SILENT
  :: !reads[ME] && lock == READERS && queued[ME] -> queued[ME] = false; let_readers_in(0); let_in = false
#endif
  :: else -> queued[ME] = false
  fi;
  forget_ticket(ME)
}

/* shared/renew, exclusive/renew */
inline do_renew(c) {
  got = false;
  if
  :: reads[ME] && lock == READERS && in[ME] && until[ME] > 0 -> until[ME] = TTL; settle(ME); got = true
  :: !reads[ME] && lock == ME -> left = TTL; got = true
  :: else
  fi
}

inline end_wait(c) {
  if
  :: !queued[ME] -> forget_ticket(ME)
  :: else
  fi;
  waits[c] = false;
  granted_by[ME] = false;
  timer[c] = 0
}

#define WRITES(c)  (valid[c] > 0 && !reads[c + 1])
#define WRITERS    (WRITES(0) + WRITES(1) + WRITES(2))
#define ALL        ((valid[0] > 0) + (valid[1] > 0) + (valid[2] > 0))
/* S1 */
inline hand_out(c, ticks) {
  end_wait(c);
  valid[c] = ticks;
  assert(WRITERS == 0 || (WRITERS == 1 && ALL == 1))
}

inline ask(c) {
  waits[c] = false;
  if
  :: reads[ME] -> do_read(c)
  :: else -> do_write(c)
  fi
}

inline die(c) {
  end_wait(c);
  deaths--;
  dead[c] = true;
  valid[c] = 0
}

proctype client(byte c) {
idle:
  atomic {
    if
    :: !still[c] -> still[c] = true; goto idle
    :: !still[c] -> reads[ME] = true
    :: !still[c] -> reads[ME] = false
    fi
  };

asking:
  atomic { true ->
    d_step { ask(c) };
    if
    :: got -> got = false; d_step { hand_out(c, TTL) }; goto holding
    :: !got && listening[c] -> d_step { waits[c] = true; timer[c] = (left < RECHECK -> left : RECHECK) }; goto waiting
    :: !got && !listening[c]
    fi
  };
  atomic { true -> listening[c] = true; goto asking };

waiting:
  atomic {
    if
    :: timer[c] == 0 && !granted_by[ME] -> goto asking
    :: granted_by[ME] -> d_step { hand_out(c, GRANT) }; goto holding
    :: !still[c] -> still[c] = true; goto waiting
    :: !still[c] -> still[c] = true; d_step { do_abandon(c); end_wait(c) }; goto idle
    :: losses > 0 && granted_by[ME] -> losses--; trouble = true; granted_by[ME] = false; goto waiting
    :: deaths > 0 && !still[c] && !granted_by[ME] -> d_step { die(c) }; goto end
    fi
  };

holding:
  atomic {
    if
    :: !still[c] && valid[c] > 0 -> still[c] = true; d_step { do_renew(c); valid[c] = (got -> TTL : 0); got = false }; goto holding
    :: !still[c] && valid[c] > 1 -> still[c] = true; goto holding
    :: !still[c] -> valid[c] = 0; d_step { do_release(c) }; goto idle
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
  :: valid[c] > 0 -> valid[c]--
  :: else
  fi;
  if
  :: until[ME] > 0 -> until[ME]--
  :: else
  fi
}

/* A reader waits, and nobody alive is ahead of it in the queue. */
#define LIVE_WRITER(c)  (waits[c] && !reads[c + 1])
#define VAIN(c)         (waits[c] && reads[c + 1])

proctype clock() {
  byte c;
  do
  :: timeout -> d_step {
      if
      :: lock == 0 && (waits[0] || waits[1] || waits[2]) -> free_for++
      :: else -> free_for = 0
      fi;
      assert(free_for <= (trouble -> RECHECK : 0));    /* L1 */
      if
      :: lock == READERS && (VAIN(0) || VAIN(1) || VAIN(2)) && !(LIVE_WRITER(0) || LIVE_WRITER(1) || LIVE_WRITER(2)) ->
        vain_for++
      :: else -> vain_for = 0
      fi;
      assert(vain_for <= RECHECK + 1);                 /* L3 */
      for (c : 0 .. CLIENTS - 1) {
        pass_time(c)
      }
      c = 0;
      if
      :: left > 1 -> left--
      :: else -> left = 0; lock = 0
      fi
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
