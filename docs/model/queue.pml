/* The queue of a name. A ticket says since when an owner waits, so tickets are an order of owners. IDS owner ids; 0 is nobody. */

byte line[IDS];          /* owners that have a ticket, the longest wait first */
byte lines;
bool queued[IDS + 1];    /* the owner is in the server's queue; if not, only its client knows its ticket */

byte at;                 /* used within a step */
byte owner_at;

inline take_ticket(o) {
  at = 0;
  do
  :: at < lines && line[at] != o -> at++
  :: else -> break
  od;
  if
  :: at == lines -> line[at] = o; lines++
  :: else
  fi;
  at = 0
}

inline forget_ticket(o) {
  queued[o] = false;
  at = 0;
  do
  :: at < lines && line[at] != o -> at++
  :: else -> break
  od;
  do
  :: at + 1 < lines -> line[at] = line[at + 1]; at++
  :: else -> break
  od;
  if
  :: at < lines -> lines--; line[lines] = 0
  :: else
  fi;
  at = 0
}
