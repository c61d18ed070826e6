// A holder is frozen just before it writes. When it thaws, its lock is somebody else's; its late write is
// refused.
//
//     HOLDFAST_URL=redis://localhost build/dev/examples/frozen_holder

#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <holdfast/fence.hpp>
#include <holdfast/mutex.hpp>
#include <iostream>
#include <string>

using namespace std::chrono_literals;

namespace {

constexpr auto text = "{report}:text";

struct job {
  explicit job(std::string const& url) : redis{url} {}
  holdfast::client redis;
  holdfast::mutex lock{redis, "report", {.ttl = 500ms}};
  holdfast::fence report{redis, "report"};
};

int old_holder(std::string const& url, int ready, int go) {
  job mine{url};
  auto const lease = mine.lock.acquire();
  auto const token = lease.valid() ? lease.token() : 0;  // all is well, so let's write …
  char word = 0;
  if (write(ready, "!", 1) != 1 || read(go, &word, 1) != 1) return 1;  // … but we are frozen in here
  auto const result = mine.report.set(text, "by the old holder", token);
  std::cout << "old holder, token " << token << ": " << to_string(result) << '\n';
  return result == holdfast::fence_result::refused_stale ? 0 : 1;
}

}  // namespace

int main() {
  auto const* const url = std::getenv("HOLDFAST_URL");
  std::string const server = url != nullptr ? url : "redis://localhost";
  int holds[2], go[2];
  if (pipe(holds) != 0 || pipe(go) != 0) return 1;
  auto const old = fork();  // before there is a client: a child can't use its parent's
  if (old == 0) return old_holder(server, holds[1], go[0]);
  char word = 0;
  if (old < 0 || read(holds[0], &word, 1) != 1 || kill(old, SIGSTOP) != 0) return 1;

  job mine{server};
  auto const lease = mine.lock.acquire();  // when the old holder's ttl is over
  auto const result = mine.report.set(text, "by the new holder", lease);
  std::cout << "new holder, token " << lease.token() << ": " << to_string(result) << std::endl;
  int status = 1;
  if (kill(old, SIGCONT) != 0 || write(go[1], "!", 1) != 1 || waitpid(old, &status, 0) != old) return 1;
  return result == holdfast::fence_result::written && status == 0 ? 0 : 1;
}
