// The parts of the command that decide without doing I/O, for the tests that need no process.
#include "../../cli/doctor_access.cpp"
#include "../../cli/doctor_checks.cpp"
#include "../../cli/doctor_keeping.cpp"
#include "../../cli/duration.cpp"
#include "../../cli/info_text.cpp"
#include "../../cli/local_socket.cpp"
#include "../../cli/loss_watch.cpp"
#include "../../cli/watch_events.cpp"
