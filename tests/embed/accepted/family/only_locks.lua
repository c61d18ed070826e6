local locks = {unpack(KEYS)}
return #locks
