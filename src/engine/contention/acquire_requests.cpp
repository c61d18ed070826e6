#include "engine/contention/acquire_requests.hpp"

#include <new>
#include <utility>

#include "base/broken.hpp"
#include "base/ids.hpp"
#include "engine/contention/decisions.hpp"

namespace holdfast::engine {
namespace {

/// The pause after an error that passes by itself.
constexpr std::chrono::milliseconds trouble_floor{20};

std::chrono::microseconds waited_for(time_point came_at, time_point now) {
  if (broken("L3")) came_at = time_point{} - now.time_since_epoch();  // a later caller says more
  return std::chrono::duration_cast<std::chrono::microseconds>(now - came_at);
}

/// How many permits or parties there are.
int number_of_all(effective_options const& options) {
  if (broken("permits")) return options.size + 1;
  if (broken("barrier")) return options.size - 1;
  return options.size;
}

}  // namespace

acquire_requests::acquire_requests(reactor::loop& loop, lock_backend& backend, client_constants const& client,
                                   lock_queues& queues, holders& held, callers& waiting,
                                   contenders& contending, notifications& wake,
                                   acknowledgements& acknowledged, pending_releases& releases,
                                   kept_keys& kept, late_responses& late, fast_path& fast,
                                   presence& own_presence, handler on_answer)
    : loop_{loop},
      backend_{backend},
      client_{client},
      queues_{queues},
      holders_{held},
      callers_{waiting},
      contenders_{contending},
      notifications_{wake},
      acknowledgements_{acknowledged},
      pending_releases_{releases},
      kept_keys_{kept},
      late_responses_{late},
      fast_path_{fast},
      presence_{own_presence},
      on_answer_{std::move(on_answer)},
      random_{static_cast<std::minstd_rand::result_type>(random_seed())} {}

void acquire_requests::begin(lock_queue& queue, time_point now, bool answered) noexcept {
  try {
    contenders_.open(queue, now).answered = answered;
  } catch (std::bad_alloc const&) {
    contenders_.mend_soon(now);
    return;
  }
  send(queue, now);
}

void acquire_requests::begin_missing(time_point now) noexcept {
  queues_.for_each([this, now](lock_queue& queue) {
    if (!queue.contender && !queue.waiters.empty() && queue.holder == nullptr) begin(queue, now);
  });
}

acquire_request acquire_requests::next(lock_queue& queue, time_point now) {
  auto& contender = *queue.contender;
  auto const& first = queue.waiters.front();
  auto const& options = first.options->options;
  contender.ttl = options.ttl;
  pending_releases_.note_ttl(options.ttl);
  contender.amount = first.amount;
  contender.in_place_of = first.in_place_of;
  if (first.options->value) contender.proclaimed_by = first.options;
  contender.requested_join =
      !first.tries_only && (notifications_.by_message(queue) || queue.lock_recipe().counts_waiters);
  contender.was_listening = contender.listening && notifications_.hears(queue, contender.number);
  auto const copied = contender.policy.copied;
  contender.policy = notifications_.policy_of(options);
  contender.policy.copied = copied;
  contender.first_came_at = first.came_at;
  return {.owner = contender.owner,
          .ttl = contender.ttl,
          .tokens = options.handoff_limit + 1,
          .amount = contender.amount,
          .size = number_of_all(*first.options),
          .join = contender.requested_join,
          .listening = contender.was_listening,
          .ticket = contender.ticket,
          .waited = waited_for(first.came_at, now),
          .newest = contender.newest_token,
          .in_place_of = first.in_place_of,
          .value = first.options->value,
          .policy = contender.policy};
}

void acquire_requests::send(lock_queue& queue, time_point now) noexcept {
  if (asked_for_something_else(queue)) {
    ask_anew(queue, now, queue.contender->answered);
    return;
  }
  auto& contender = *queue.contender;
  if (stays_back(queue, now)) {
    contender.current = contender::state::waiting;
    loop_.arm(contender.retry,
              contender.back_until > now ? contender.back_until : now + client_.options.recheck);
    return;
  }
  auto const number = contender.number;
  contender.current = contender::state::asking;
  contender.woken = false;
  contender.acknowledged = false;
  contender.retry.disarm();
  try {
    try_send(queue, now);
  } catch (std::bad_alloc const&) {
    contenders_.on_unsent(queue, number, now);
  }
}

bool acquire_requests::gives_way(lock_queue const& queue, time_point came_at) const noexcept {
  auto const* const side = queue.lock_recipe().other_side;
  auto const* const other = side == nullptr ? nullptr : queues_.find(*side, queue.name());
  return other != nullptr && waits_ahead(*other, came_at) && !backend_.down_because();
}

/// Other processes, which don't give way, may keep the other side waiting: so a contender gives way for one
/// re-check at most, or longer while leases of its own queue are what the other side waits for.
bool acquire_requests::stays_back(lock_queue& queue, time_point now) noexcept {
  auto& contender = *queue.contender;
  auto const may_have_lock = contender.taken || contender.unconfirmed;
  if (may_have_lock || !gives_way(queue, queue.waiters.front().came_at)) return false;
  contender.contended = true;
  contender.answered = true;  // the other side was answered
  if (contender.back_until == time_point{}) contender.back_until = now + client_.options.recheck;
  return now < contender.back_until || holders_.has_any(queue);
}

void acquire_requests::try_send(lock_queue& queue, time_point now) {
  auto& contender = *queue.contender;
  auto const first_ask = contender.ttl == milliseconds{};
  auto request = next(queue, now);
  request.fast = first_ask && !contender.contended && fast_path_.fits(queue, request, now);
  contender.fast = request.fast;
  contender.joined = contender.joined || (request.join && !request.fast && queue.lock_recipe().queues);
  auto const& first = queue.waiters.front();
  auto const patience = patience_of(contender, first, client_.options.patience, now);
  contender.endless = patience.endless();
  contender.bounded = patience.of_first;
  scripting::send_options const send{.while_down = patience.while_down, .give_up = patience.give_up};
  presence_.introduce(now, send);
  if (first.options->wants_acknowledgement()) {
    acknowledgements_.acquire(queue.lock_recipe(), queue.name(), request, first.options->options, send,
                              [this, pin = lock_queue_ptr{&queue}, number = contender.number](
                                  answer<verdict>&& result, acknowledgement const* reached) {
                                auto const answered = boot_clock::now();
                                if (reached == nullptr || on_acknowledged(*pin, number, *reached, answered))
                                  on_answer_(*pin, number, result, answered);
                              });
    return;
  }
  backend_.acquire(
      queue.lock_recipe(), queue.name(), request,
      [this, pin = lock_queue_ptr{&queue}, number = contender.number](answer<verdict>&& result) {
        on_answer_(*pin, number, result, boot_clock::now());
      },
      send);
}

void acquire_requests::send_all_soon(time_point now) noexcept {
  queues_.for_each_contending([&](lock_queue& queue) {
    if (queue.contender->current == contender::state::waiting) loop_.arm(queue.contender->retry, now);
  });
}

/// Callers for which enough replicas have it get the lock; the others fail with the reason. False: the
/// contender asks again.
bool acquire_requests::on_acknowledged(lock_queue& queue, std::uint64_t number,
                                       acknowledgement const& reached, time_point now) noexcept {
  if (!is_contender(queue, number)) return true;  // without callers it is given back
  lock_queue_ptr const pin{&queue};
  queue.contender->current = contender::state::waiting;
  queue.contender->taken = true;
  if (reached.elsewhere && !queue.waiters.empty()) {
    send(queue, now);
    return false;
  }
  for (auto next = queue.waiters.begin(); next != queue.waiters.end();) {
    auto& caller = *next++;
    auto const& options = caller.options->options;
    if (reached.enough(options) || (options.fsynced && !reached.of_disks)) continue;
    try {
      caller.failure = explain_lack(reached, options, queue.title(), client_.url);
    } catch (std::bad_alloc const&) {
      caller.failure = client_.no_memory;
    }
    callers_.finish(caller, now);
  }
  if (!queue.waiters.empty() && !reached.enough(queue.waiters.front().options->options)) {
    send(queue, now);  // as its owner, and with a WAIT for disks this time
    return false;
  }
  queue.contender->acknowledged = true;
  return true;
}

bool acquire_requests::replace_contender(lock_queue& queue, time_point now) noexcept {
  if (!has_place_of_another(queue)) return false;
  auto const& old = *queue.contender;
  auto const number = old.number;
  auto const policy = old.policy;
  auto const answered = old.answered;
  auto const under_way = old.current != contender::state::waiting;
  auto const may_come_late = may_take_for_nobody(queue);
  contenders_.end(queue, now);
  begin(queue, now, answered);
  // A request under way makes it an orphan, whose response decides, but says nothing of earlier requests.
  if (!under_way || may_come_late) pending_releases_.abandon(queue, number, policy, now);
  return true;
}

void acquire_requests::ask_anew(lock_queue& queue, time_point now, bool answered) noexcept {
  auto const number = queue.contender->number;
  auto const policy = queue.contender->policy;
  contenders_.end(queue, now);
  pending_releases_.abandon(queue, number, policy, now);
  begin(queue, now, answered);
}

void acquire_requests::wait_for_wake_up(lock_queue& queue, busy const& reply, time_point now) {
  auto& contender = *queue.contender;
  contender.current = contender::state::waiting;
  auto const by_message = notifications_.by_message(queue);
  if (by_message && !contender.listening) {
    contender.listening = notifications_.listen(queue, contender.number, contender.owner, now);
    if (contender.listening) {  // they were opened for another contender, perhaps after this request
      send(queue, now);
      return;
    }
  }
  auto const pause = by_message ? time_to_recheck(reply, client_.options.recheck)
                                : time_to_poll(reply, contender.pause.next(random_));
  loop_.arm(contender.retry, end_of_sleep(queue.waiters.front(), pause, now));
}

void acquire_requests::wait_out(lock_queue& queue, std::shared_ptr<error const> const& reason,
                                time_point now) noexcept {
  auto& contender = *queue.contender;
  contender.trouble = reason;
  loop_.arm(contender.retry, now + trouble_floor + contender.pause.next(random_));
}

/// A message brought the lock first, or the caller left and another caller got a contender of its own. Unless
/// the lock is in use, or kept, the request may have left traces. It may have joined the server's queue, or
/// taken the lock for no caller: even after a release that was sent later, which a server that has lost its
/// scripts may carry out first.
void acquire_requests::drop_orphan(lock_queue& queue, std::uint64_t number, bool copied,
                                   time_point now) noexcept {
  auto const kept_until = late_responses_.arrived(number);
  if (kept_until == time_point{}) {
    if (holders_.has(queue, number)) return;
    lock_options options;
    if (queue.lock_recipe().order == order::strict) options = in_server_order(options);
    auto policy = notifications_.policy_of(options);
    policy.copied = copied;
    pending_releases_.abandon(queue, number, policy, now);
    return;
  }
  // If the request for the last ttl overtook it in that way, this one has given the key its usual ttl.
  if (kept_until != time_point::max() && now < kept_until)
    kept_keys_.set_last_ttl(queue, number, kept_until, kept_until, now);
}

}  // namespace holdfast::engine
