// `holdfast serve`: traces, which holders say some time after their grants.
#include "script/names.hpp"
#include "serve_fixture.hpp"
#include "support/eventually.hpp"
#include "support/rounds.hpp"

#include <gmock/gmock.h>

#include <chrono>
#include <string>

namespace {

using namespace holdfast::test;
using namespace std::chrono_literals;

class serve_traces : public serve_fixture {};

TEST_F(serve_traces, are_listed_when_a_holder_says_them_later) {
  constexpr auto trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
  std::string const uuid{"11111111-2222-4333-8444-555555555555"};
  auto const record = holdfast::names::client_record(uuid);
  redis.command({"HSET", record, "host", "web-3", "traces", "-"});
  open();
  auto const holder_of = [&] { return list_of(1)["locks"][0]["holder"]; };
  auto number = 0;
  passes_in_one_round_of(5, [&] {  // unless the machine stops this for a second
    auto const acquisition = std::to_string(++number);
    hold("orders", uuid + ":" + acquisition);
    ASSERT_TRUE(eventually([&] { return holder_of()["owner"] == uuid + ":" + acquisition; }));
    EXPECT_FALSE(holder_of().contains("trace"));
    redis.command({"HSET", record, "traces", acquisition + "=" + trace});
    EXPECT_TRUE(true_within(4s, [&] { return holder_of().value("trace", "") == trace; }));
  });
}

}  // namespace
