/// What bench/etcd measures, as processes of this program.
#pragma once

namespace holdfast::test {

/// To be called first in main():
///
///     cycle URL NAME TIMES      acquires and releases a mutex so often, and writes "median MICROSECONDS"
///     contend URL NAME SECONDS  writes "ready"; from the next line on it acquires and releases for so long,
///                               and writes "rounds N"
///     many URL NUMBER SECONDS   holds so many mutexes, writes "held", and after so long "used MILLISECONDS",
///                               of the processor in that time, and "lost N"
void measure_if_requested(int argc, char** argv);

}  // namespace holdfast::test
