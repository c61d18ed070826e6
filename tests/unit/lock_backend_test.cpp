#include "engine/lock_backend.hpp"

#include <new>

#include "unit/engine_parts.hpp"

namespace holdfast::engine {
namespace {

answer<renewals> read_without_memory(net::response&& /*response*/) { throw std::bad_alloc{}; }

TEST(lock_backend, tells_of_an_answer_that_it_had_no_memory_to_read) {
  struct : recording_backend {
    [[nodiscard]] response_handler handler_of(handler<renewals> done) const {
      return trying_to_read<read_without_memory>(std::move(done));
    }
  } const backend;
  std::optional<answer<renewals>> heard;
  auto on_response = backend.handler_of([&](answer<renewals>&& result) { heard = std::move(result); });
  on_response({.reply = resp::make_integer(1), .sent = true});
  ASSERT_TRUE(heard);
  ASSERT_NE(heard->failure(), nullptr);
  EXPECT_EQ(heard->failure()->reason->code(), std::errc::not_enough_memory);
  EXPECT_TRUE(heard->failure()->sent) << "it may have been carried out";
}

}  // namespace
}  // namespace holdfast::engine
