// What `inspect` reads: replies to a look at a lock, of either wire, where keys may hold anything; Redisson's
// objects; notes of the last run, and records of clients.

#include "inspect/states.hpp"

#include <string>

#include "engine/record.hpp"
#include "fuzz/fuzz.hpp"
#include "inspect/last_run.hpp"

namespace {

using namespace holdfast;
using namespace holdfast::fuzzing;
using namespace std::chrono_literals;

void check(lock_state const& state) {
  require(state.name == "name", "the state has its name");
  require(!state.ttl_left || *state.ttl_left >= 0ms, "what is left is no negative time");
  require(state.holders.empty() || !state.holder.owner.empty() || state.holders.front().process.owner.empty(),
          "the first of the holders is the holder");
  for (auto const& waiter : state.queue)
    require(waiter.waited.value_or(0us) >= 0us && waiter.credit_left.value_or(0ms) >= 0ms,
            "they have waited");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  for (auto const& reply : replies_in(text_of(data, size))) {
    auto const both = inspection::read_states("name", reply);
    check(both.plain);
    check(both.redisson);
    auto const run = inspection::read_run(reply);
    require(!run || !run->process.owner.empty(), "a run has an owner");
    auto const record = engine::read_record("owner", reply);
    require(record.owner == "owner", "a record is its owner's");
  }
  return 0;
}
