/// Shared by the tests of transports: a loop that runs in this thread, and a port of this machine.
#pragma once

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <chrono>
#include <optional>
#include <string>

#include "net/transport.hpp"

namespace holdfast::test {

struct transport_test : testing::Test {
  boost::asio::io_context io;
  boost::asio::ip::tcp::acceptor acceptor{
      io, boost::asio::ip::tcp::endpoint{boost::asio::ip::address_v4::loopback(), 0}};

  [[nodiscard]] std::string port() const { return std::to_string(acceptor.local_endpoint().port()); }

  template <class Predicate>
  bool run_until(Predicate done) {
    auto const deadline = std::chrono::steady_clock::now() + std::chrono::seconds{20};
    while (!done() && std::chrono::steady_clock::now() < deadline) {
      io.restart();
      io.run_one_for(std::chrono::milliseconds{50});
    }
    return done();
  }

  /// The failure of connecting; empty when it succeeded.
  std::string connect(net::transport& client) {
    std::optional<std::string> outcome;
    client.async_connect([&](std::string const& failure) { outcome = failure; });
    EXPECT_FALSE(outcome) << "never inside the call";
    EXPECT_TRUE(run_until([&] { return outcome.has_value(); }));
    return outcome.value_or("no answer");
  }

  /// The failure of a read, before the end of which `end` is called.
  template <class End>
  boost::system::error_code failure_of_read(net::transport& client, End end) {
    char buffer[16];
    std::optional<boost::system::error_code> outcome;
    client.async_read_some(buffer, sizeof buffer,
                           [&](boost::system::error_code failure, std::size_t) { outcome = failure; });
    end();
    EXPECT_TRUE(run_until([&] { return outcome.has_value(); }));
    return outcome.value_or(boost::system::error_code{});
  }
};

}  // namespace holdfast::test
