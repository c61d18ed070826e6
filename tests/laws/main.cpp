/// The program of this folder's tests, which is also its own worker process.
#include "support/served.hpp"
#include "support/worker.hpp"

#include <gtest/gtest.h>

#include <csignal>

int main(int argc, char** argv) {
  holdfast::test::become_worker_if_asked(argc, argv);
  std::signal(SIGPIPE, SIG_IGN);  // writing to a worker that was killed
  holdfast::test::choose_topology(argc, argv);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
