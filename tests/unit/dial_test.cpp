/// net::dial and the look-ups that it shares, with a name service of the test.
#include "net/dial.hpp"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <netdb.h>

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "net/resolve.hpp"
#include "support/eventually.hpp"

namespace {

std::atomic<int> questions_about_slow_host = 0;
std::atomic<bool> slow_host_is_known = false;
std::atomic<int> questions_that_hang = 0;  ///< the first ones, until the host is known

}  // namespace

/// In place of the C library's. The addresses of the host "127.0.0.1+127.0.0.2" are these two in this order;
/// answers about "slow.test" take until the test allows it.
extern "C" int getaddrinfo(char const* host, char const* service, addrinfo const* hints, addrinfo** found) {
  static auto const of_library = reinterpret_cast<decltype(&getaddrinfo)>(::dlsym(RTLD_NEXT, "getaddrinfo"));
  std::string const name = host != nullptr ? host : "";
  if (name == "slow.test") {
    if (questions_about_slow_host++ < questions_that_hang) slow_host_is_known.wait(false);
    return of_library("127.0.0.7", service, hints, found);
  }
  auto const plus = name.find('+');
  if (plus == std::string::npos) return of_library(host, service, hints, found);
  if (auto const code = of_library(name.substr(0, plus).c_str(), service, hints, found); code != 0)
    return code;
  return getaddrinfo(name.substr(plus + 1).c_str(), service, hints, &(*found)->ai_next);
}

namespace holdfast::test {
namespace {

using net::dial;
using net::endpoint;
using net::stream_socket;
using testing::HasSubstr;

sockaddr_in local(std::string const& address, std::uint16_t port) {
  sockaddr_in result{};
  result.sin_family = AF_INET;
  result.sin_port = htons(port);
  ::inet_pton(AF_INET, address.c_str(), &result.sin_addr);
  return result;
}

/// A socket at an address that listens, refuses, or swallows what is sent to it.
class server_socket {
 public:
  enum class answer { accepts, refuses, none };

  server_socket(std::string const& address, std::uint16_t port, answer how) {
    auto at = local(address, port);
    socklen_t size = sizeof at;
    auto* const generic = reinterpret_cast<sockaddr*>(&at);
    EXPECT_EQ(::bind(socket_, generic, size), 0) << address << ':' << port;
    ::getsockname(socket_, generic, &size);
    port_ = ntohs(at.sin_port);
    if (how == answer::refuses) return;
    EXPECT_EQ(::listen(socket_, how == answer::none ? 0 : 16), 0);
    if (how == answer::accepts) return;
    for (int i = 0; i != 4; ++i) {  // its queue is full then, and the kernel drops all further requests
      fillers_.push_back(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
      (void)::connect(fillers_.back(), generic, size);
    }
  }
  ~server_socket() {
    for (auto const each : fillers_) ::close(each);
    ::close(socket_);
  }
  server_socket(server_socket const&) = delete;
  server_socket& operator=(server_socket const&) = delete;

  [[nodiscard]] std::uint16_t port() const { return port_; }

 private:
  int const socket_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  std::vector<int> fillers_;
  std::uint16_t port_ = 0;
};
using answer = server_socket::answer;

/// Dials the host "127.0.0.1+127.0.0.2".
class dial_of_two : public testing::Test {
 protected:
  void start(answer first, answer second) {
    first_.emplace("127.0.0.1", 0, first);
    second_.emplace("127.0.0.2", first_->port(), second);
    endpoint to;
    to.host = "127.0.0.1+127.0.0.2";
    to.port = first_->port();
    dial_ = std::make_shared<dial>(io_, to);
    dial_->start([this](std::string const& failure, stream_socket socket) {
      ++outcomes_;
      failure_ = failure;
      socket_.emplace(std::move(socket));
    });
  }

  [[nodiscard]] bool ends() {
    return run_until([this] { return outcomes_ != 0; });
  }
  template <class Condition>
  [[nodiscard]] bool run_until(Condition condition) {
    return eventually([&] {
      io_.restart();
      io_.run_for(10ms);
      return condition();
    });
  }
  [[nodiscard]] std::string at(std::string const& address) const {
    return address + ":" + std::to_string(first_->port());
  }

  std::optional<server_socket> first_;
  std::optional<server_socket> second_;
  boost::asio::io_context io_;
  std::shared_ptr<dial> dial_;
  int outcomes_ = 0;
  std::string failure_;
  std::optional<stream_socket> socket_;
};

TEST_F(dial_of_two, connects_to_the_first) {
  start(answer::accepts, answer::accepts);
  ASSERT_TRUE(ends());
  EXPECT_EQ(failure_, "");
  EXPECT_EQ(dial_->peer(), at("127.0.0.1"));
}

TEST_F(dial_of_two, connects_to_the_second_when_the_first_refuses) {
  start(answer::refuses, answer::accepts);
  ASSERT_TRUE(ends());
  EXPECT_EQ(failure_, "");
  EXPECT_TRUE(socket_->is_open());
  EXPECT_EQ(dial_->peer(), at("127.0.0.2"));
}

TEST_F(dial_of_two, connects_to_the_second_when_the_first_swallows_what_is_sent_to_it) {
  start(answer::none, answer::accepts);
  ASSERT_TRUE(ends());
  EXPECT_EQ(failure_, "");
  EXPECT_TRUE(socket_->is_open());
  EXPECT_EQ(dial_->peer(), at("127.0.0.2"));
  EXPECT_TRUE(run_until([this] { return io_.stopped(); })) << "what was under way to the first hasn't ended";
  EXPECT_EQ(outcomes_, 1);
}

TEST_F(dial_of_two, says_what_was_wrong_with_each) {
  start(answer::refuses, answer::refuses);
  ASSERT_TRUE(ends());
  EXPECT_EQ(failure_, "connect to " + at("127.0.0.1+127.0.0.2") + ": " + at("127.0.0.1") +
                          ": Connection refused; " + at("127.0.0.2") + ": Connection refused");
}

TEST_F(dial_of_two, waits_for_the_first_although_the_second_has_refused) {
  start(answer::none, answer::refuses);
  io_.run_for(dial::attempt_delay + 200ms);
  EXPECT_EQ(outcomes_, 0);
  EXPECT_EQ(dial_->peer(), at("127.0.0.1"));
  dial_->cancel();
  ASSERT_TRUE(ends());
  EXPECT_THAT(failure_, HasSubstr("Operation canceled"));
  io_.restart();
  EXPECT_GE(io_.run(), 0U) << "nothing is left to wait for";
  EXPECT_EQ(outcomes_, 1);
}

/// A name service that hangs.
class slow_host : public testing::Test {
 protected:
  slow_host() {
    questions_about_slow_host = 0;
    questions_that_hang = std::numeric_limits<int>::max();
    slow_host_is_known = false;
    to_.host = "slow.test";
  }
  ~slow_host() override {
    for (auto const& each : asked_) each->cancel();  // an answer may come when io_ has gone
    let_it_answer();
  }

  static void let_it_answer() {
    slow_host_is_known = true;
    slow_host_is_known.notify_all();
  }

  void ask(std::uint16_t port) {
    to_.port = port;
    asked_.push_back(net::resolve(io_, to_, [this](std::string const& failure, auto found) {
      answers_.push_back(failure.empty() ? found.front().text : failure);
    }));
  }

  boost::asio::io_context io_;
  endpoint to_;
  std::vector<std::shared_ptr<net::resolution>> asked_;
  std::vector<std::string> answers_;
};

TEST_F(slow_host, is_looked_up_once_for_all_who_ask_meanwhile) {
  for (std::uint16_t port = 1; port <= 20; ++port) ask(port);
  for (auto i = 0U; i != 18; ++i) asked_[i]->cancel();
  ASSERT_TRUE(eventually([] { return questions_about_slow_host != 0; }));
  ask(21);
  let_it_answer();
  io_.run();  // until no one is left to be answered
  EXPECT_THAT(answers_, testing::UnorderedElementsAre("127.0.0.7:19", "127.0.0.7:20", "127.0.0.7:21"));
  EXPECT_EQ(questions_about_slow_host, 1);

  ask(22);
  io_.restart();
  io_.run();
  EXPECT_EQ(answers_.back(), "127.0.0.7:22");
  EXPECT_EQ(questions_about_slow_host, 2) << "an answer is for those who asked before it";
}

TEST_F(slow_host, is_asked_for_anew_when_a_question_hangs) {
  questions_that_hang = 1;
  ask(1);
  asked_[0]->cancel();
  EXPECT_TRUE(eventually([&] {
    if (questions_about_slow_host < 2) ask(2);
    io_.restart();
    io_.poll();
    return !answers_.empty();
  }));
  EXPECT_EQ(questions_about_slow_host, 2);
}

TEST_F(slow_host, costs_few_threads_however_many_questions_hang) {
  for (int threads = 1; threads <= 4; ++threads) {
    EXPECT_TRUE(eventually([&] {
      ask(1);
      asked_.back()->cancel();
      return questions_about_slow_host == threads;
    }));
  }
  EXPECT_TRUE(always(3s, [&] {
    ask(1);
    asked_.back()->cancel();
    return questions_about_slow_host == 4;
  }));
}

TEST_F(slow_host, may_be_answered_when_who_asked_has_gone) {
  auto io = std::make_unique<boost::asio::io_context>();
  auto const one = net::resolve(*io, to_, [](std::string const&, auto const&) { FAIL(); });
  ASSERT_TRUE(eventually([] { return questions_about_slow_host != 0; }));
  one->cancel();
  io.reset();
  let_it_answer();
}

}  // namespace
}  // namespace holdfast::test
