// What `holdfast serve` keeps for clients that don't read: its HTTP server by itself, so that time and load
// don't decide what comes first.
#include "http_visitor.hpp"
#include "serve/http_server.hpp"
#include "serve/listening.hpp"
#include "support/eventually.hpp"

#include <gtest/gtest.h>

#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <utility>

namespace {

using namespace holdfast::test;
using namespace std::chrono_literals;
namespace cli = holdfast::cli;

constexpr std::size_t long_answer = 8'388'608;

/// A server in a process of its own: /long has one long answer for all, everything else a short one.
class long_answers {
 public:
  explicit long_answers(cli::http_limits const& limits) {
    auto const socket = cli::listen_on("127.0.0.1:0");
    port_ = static_cast<std::uint16_t>(std::stoi(socket.address.substr(socket.address.rfind(':') + 1)));
    pid_ = fork();
    if (pid_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      auto const text = std::make_shared<std::string const>(long_answer, 'x');
      auto const answer = [&](cli::http_request const& request, cli::responder const& respond) {
        if (request.path != "/long") return respond(cli::answer_with("{}"));
        cli::http_response one;
        one.body = text;
        respond(std::move(one));
      };
      cli::http_server{socket.file, limits, nullptr, answer}.run();
      _exit(0);
    }
    close(socket.file);
  }
  ~long_answers() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  long_answers(long_answers const&) = delete;
  long_answers& operator=(long_answers const&) = delete;

  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] int status_of(std::string const& target) const {
    return http_exchange(port_, http_request_text(port_, "GET", target)).status;
  }

 private:
  std::uint16_t port_ = 0;
  pid_t pid_ = -1;
};

TEST(serve_answers, that_nobody_reads_are_few) {
  long_answers const serve{{.answer_bytes = 3 * long_answer, .request = 1h, .response = 1h}};
  std::deque<http_connection> lazy;
  for (int i = 0; i != 3; ++i) {
    lazy.emplace_back(serve.port());
    int const little = 4'096;
    setsockopt(lazy.back().file(), SOL_SOCKET, SO_RCVBUF, &little, sizeof little);
    lazy.back().send(http_request_text(serve.port(), "GET", "/long"));
  }
  EXPECT_TRUE(eventually([&] { return serve.status_of("/long") == 503; }));
  EXPECT_EQ(serve.status_of("/short"), 200) << "short ones have room";
  lazy.clear();
  EXPECT_TRUE(eventually([&] { return serve.status_of("/long") == 200; }));
}

}  // namespace
