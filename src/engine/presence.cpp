#include "engine/presence.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <new>
#include <utility>

#include "base/host_name.hpp"
#include "engine/failure.hpp"
#include "resp/command.hpp"
#include "script/names.hpp"
#include "scripts/client.hpp"

namespace holdfast::engine {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::milliseconds settling{500};
constexpr std::chrono::seconds between_records{20};
constexpr std::chrono::milliseconds record_ttl{60'000};

/// Until a record that was refused is written again. A right may be granted some day; all else passes, as
/// does a lack of memory, a full disk or a failover.
std::chrono::nanoseconds pause_after(std::string_view refusal) noexcept {
  if (is_transient(refusal)) return 0s;
  return about_rights(refusal) ? std::chrono::nanoseconds{10min} : between_records / 2;
}

}  // namespace

process_info describe_self(std::string const& label) {
  return {.owner = {},
          .host = host_name(),
          .pid = ::getpid(),
          .program = ::program_invocation_short_name,
          .label = label};
}

presence::presence(reactor::loop& loop, lock_backend& backend, identity self, std::function<bool()> wanted,
                   std::function<void()> open, std::function<std::string(time_point)> traces)
    : loop_{loop},
      backend_{backend},
      identity_{std::move(self)},
      wanted_{std::move(wanted)},
      open_{std::move(open)},
      traces_{std::move(traces)},
      timer_{[this] { look(); }} {}

void presence::start(time_point now) noexcept { loop_.arm(timer_, now + settling); }

void presence::look() {
  auto const now = boot_clock::now();
  if (!wanted_() && stays_until_ <= now) return;
  loop_.arm(timer_, now + between_records);
  open_();
  if (now >= tries_again_ && !announced_lately(now)) announce(now, {.give_up = now + between_records});
}

bool presence::announced_lately(time_point now) const noexcept {
  return announced_at_ != time_point{} && now < announced_at_ + between_records;
}

void presence::introduce(time_point now, scripting::send_options send) noexcept try {
  if (now < tries_again_ || announced_lately(now)) return;
  announce(now, send);
} catch (std::bad_alloc const&) {
  touch(now);
}

bool presence::say_traces(time_point now) {
  if (now < tries_again_) return false;
  announce(now, {.give_up = now + between_records});
  return true;
}

void presence::stay_until(time_point when, time_point now) noexcept {
  stays_until_ = std::max(stays_until_, when);
  touch(now);
}

void presence::stay_for_a_day(time_point now) noexcept {
  if (stays_until_ > now + 23h) return;
  stay_until(now + 24h, now);
  announced_at_ = {};  // what was said before it is for a minute
  introduce(now, {.give_up = now + between_records});
}

void presence::announce(time_point now, scripting::send_options send) {
  auto const stays = std::chrono::ceil<milliseconds>(stays_until_ - now);
  auto const self = describe_self(identity_.label);
  auto const record = names::client_record(identity_.uuid);
  auto const traces = traces_ ? traces_(now) : std::string{};
  announced_ = true;
  announced_at_ = now;
  backend_.run(
      scripts::client::announce{.record = {record},
                                .ttl_ms = std::max(record_ttl, stays).count(),
                                .host = self.host,
                                .pid = self.pid,
                                .program = self.program,
                                .label = self.label,
                                .traces = traces}(),
      [this](net::response&& response) {
        auto const refused = response.reply.is_error();
        if (refused || response.failure) announced_at_ = {};
        tries_again_ = refused ? boot_clock::now() + pause_after(response.reply.text) : time_point{};
      },
      send);
}

void presence::end(time_point now) noexcept try {
  timer_.disarm();
  if (now < tries_again_) return;
  if (stays_until_ > now) {
    announce(now, {.give_up = now + between_records});
    return;
  }
  if (!std::exchange(announced_, false)) return;
  auto const record = names::client_record(identity_.uuid);
  net::request request{.slot = backend_.slot_of(record)};
  resp::append_command(request.bytes, {"DEL", record});
  backend_.send(std::move(request));
} catch (std::bad_alloc const&) {
  // The record goes at the end of its ttl.
}

}  // namespace holdfast::engine
