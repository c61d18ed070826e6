#include "engine/conversions.hpp"

#include <algorithm>
#include <new>
#include <utility>
#include <variant>

#include "engine/failure.hpp"
#include "engine/release/pauses.hpp"

namespace holdfast::engine {

struct conversions::attempt {
  attempt(lease_state& lease, call request, handler then)
      : old{&lease}, script{std::move(request)}, done{std::move(then)} {}

  void end() {
    auto handle = std::exchange(done, {});
    handle(std::move(latest));
  }

  lease_state_ptr old;
  call script;
  handler done;
  answer<ownership> latest{};
  bool copied = false;  ///< a request that wasn't the last may have been carried out
};

void conversions::begin(lease_state& old, call script, handler done) {
  auto const pending = std::make_shared<attempt>(old, std::move(script), std::move(done));
  if (moments_ != nullptr) moments_->paused(old, boot_clock::now());
  send(pending);
}

void conversions::send(attempt_ptr const& pending) {
  backend_.convert(pending->script,
                   [this, pending](answer<ownership>&& result) { on_answer(pending, std::move(result)); },
                   {.while_down = net::retry_policy::endless, .give_up = pending->old->deadline()});
}

void conversions::on_answer(attempt_ptr const& pending, answer<ownership>&& result) noexcept {
  auto* const refusal = std::get_if<refused>(&result.content);
  auto* const failure = std::get_if<failed>(&result.content);
  if (refusal != nullptr) pending->copied = refusal->resent = refusal->resent || pending->copied;
  if (failure != nullptr) failure->sent = failure->sent || pending->copied;
  auto const passes = refusal != nullptr && is_transient(refusal->text);
  pending->latest = std::move(result);
  if (passes && pending->old->valid()) {
    try {
      auto const next_try = std::min(boot_clock::now() + passing_pause, pending->old->deadline());
      delayed_.add(next_try, [this, pending] { go_on(pending); });
      ++in_pause_;
      return;
    } catch (std::bad_alloc const&) {
      // The refusal is the outcome.
    }
  }
  pending->end();
}

/// The end of the client, which has ended the lease, calls it early.
void conversions::go_on(attempt_ptr const& pending) noexcept {
  --in_pause_;
  if (pending->old->valid()) {
    try {
      send(pending);
      return;
    } catch (std::bad_alloc const&) {
      // The refusal is the outcome.
    }
  } else if (pending->old->cause() == loss_cause::closed) {
    pending->latest.content = failed{.reason = client_.shut_down, .sent = pending->copied};
  }
  pending->end();
}

}  // namespace holdfast::engine
