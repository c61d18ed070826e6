#include "engine/quorum/quorum.hpp"

#include <algorithm>
#include <charconv>
#include <new>
#include <utility>

#include "engine/quorum/acquire_round.hpp"
#include "engine/quorum/ballot.hpp"
#include "engine/quorum/broadcast_command.hpp"
#include "engine/quorum/replies.hpp"
#include "engine/quorum/vote_count.hpp"
#include "script/runner.hpp"

namespace holdfast::engine {
namespace {

/// How long a request that gives a vote back stays worth sending.
constexpr std::chrono::minutes returned_vote_lifetime{1};

net::settings settings_for(net::endpoint const& one, net::settings like) {
  like.server = one;
  return like;
}

/// Always in full: a script that the master has forgotten would be sent again behind what comes after it, and
/// then give back a later vote, which counts.
net::request in_full(net::request what) {
  what.bytes = what.in_full(what.bytes, what.script);
  what.in_full = nullptr;
  return what;
}

std::string count_warning(std::string const& url, std::size_t masters) {
  auto const why = masters == 1 ? "1 server is no quorum: it can be had as redis:// with all kinds of lock"
                   : masters == 2
                       ? "of 2 servers both are needed, so a lock fails as soon as one is down"
                       : "of an even number of servers one more must be up than of one server less, "
                         "and no more may fail";
  return url + ": " + why + "; use 3 or 5";
}

}  // namespace

quorum::quorum(reactor::loop& on, std::vector<net::endpoint> const& whom, net::settings const& how,
               client_stats& counts, topology::events tell, std::shared_ptr<error const> why_nothing)
    : lock_backend{std::move(why_nothing)}, on_{on}, config_{how}, tell_{std::move(tell)} {
  nodes_.reserve(whom.size());
  for (auto const& one : whom) {
    nodes_.push_back(std::make_unique<quorum_node>(
        on, settings_for(one, how), counts,
        quorum_node::events{.back = [this] { on_back(); }, .known = [this] { on_known(); }}));
  }
  if (nodes_.size() % 2 == 0 || nodes_.size() < 3)
    tell_.warning(count_warning(config_.server.display, nodes_.size()));
}

quorum::~quorum() = default;

std::size_t quorum::majority() const noexcept { return majority_of(nodes_.size()); }

std::uint64_t quorum::number_of(std::string_view owner) noexcept {
  std::uint64_t number = 0;
  auto const digits = owner.substr(std::min(owner.rfind(':') + 1, owner.size()));
  std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return number;
}

/// Who they are is asked ahead of everything else, so it is known of each by the time it votes.
void quorum::introduce() {
  if (std::exchange(introduced_, true)) return;
  for (auto const& one : nodes_) one->probe();
}

void quorum::on_known() {
  if (unfit_) return;
  for (auto one = nodes_.begin(); one != nodes_.end(); ++one) {
    auto const& id = (*one)->run_id();
    if (id.empty()) continue;
    auto const twin =
        std::find_if(one + 1, nodes_.end(), [&id](auto const& other) { return other->run_id() == id; });
    if (twin == nodes_.end()) continue;
    unfit_ = std::make_shared<error const>(
        errc::bad_url, config_.server.display + ": " + (*one)->title() + " and " + (*twin)->title() +
                           " are one server, and would have two votes; name different servers");
    return;
  }
}

std::size_t quorum::present() {
  return static_cast<std::size_t>(
      std::ranges::count_if(nodes_, [](auto const& one) { return one->present(); }));
}

void quorum::on_back() {
  if (resting_.empty() || present() < majority()) return;
  for (auto const& one : std::exchange(resting_, {})) one->wake();
}

void quorum::acquire(recipe const& how, std::string_view name, acquire_request const& what, handler done,
                     scripting::send_options patience) {
  introduce();
  std::make_shared<acquire_round>(*this, how, name, what, std::move(done), patience)->begin();
}

/// Why a majority hasn't said what became of a lease.
std::shared_ptr<error const> quorum::why_unknown(resp::reply const& refusal) const noexcept {
  try {
    if (!refusal.is_error()) return too_few();
    return std::make_shared<error const>(errc::refused, config_.server.display + ": " + refusal.text);
  } catch (std::bad_alloc const&) {
    return no_memory;
  }
}

/// From here on no vote of this owner counts any more.
void quorum::note_over(std::string_view owner) {
  auto const number = number_of(owner);
  renewing_.erase(number);
  if (auto const known = asking_.find(number); known != asking_.end())
    known->second.over_since = boot_clock::now();
}

quorum::asking quorum::note_answer(std::uint64_t owner) noexcept {
  auto const known = asking_.find(owner);
  auto const before = known->second;
  if (--known->second.owed == 0) asking_.erase(known);
  return before;
}

std::uint64_t quorum::number_to(std::size_t who, std::uint64_t owner) {
  return nodes_[who]->may_know(owner) ? ++last_request_ : 0;
}

void quorum::give_back(std::size_t who, recipe const& how, owned what, std::string_view ticket) {
  nodes_[who]->send(in_full(scripting::to_run(
      how.votes->yield(what, ticket, ++last_request_), {},
      {.while_down = net::retry_policy::endless, .give_up = boot_clock::now() + returned_vote_lifetime})));
}

void quorum::release(recipe const& how, owned what, release_policy terms, handler done,
                     scripting::send_options patience) {
  note_over(what.owner);
  auto const read = [read = how.read_release](net::response const& answer) {
    if (!answer.reply.is_integer()) return std::vector<ownership>{};
    // Sent twice, and not ours the second time: the first one did it.
    return std::vector{answer.resent ? ownership::mine : read(answer.reply)};
  };
  auto const votes = std::make_shared<vote_count>(
      *this, 1, vote_count::word::last, read,
      vote_count::events{.done =
                             [this, done = std::move(done)](vote_count::result&& result) mutable {
                               if (!done) return;
                               net::response answer{.sent_at = result.sent_at, .sent = true};
                               if (result.leases.front() == ownership::unknown) {
                                 answer.failure = why_unknown(result.refusal);
                               } else {
                                 answer.reply = quorum_replies::of_release(result.leases.front());
                               }
                               done(std::move(answer));
                             },
                         .gone = {}});
  votes->ask_all(
      [this, number = number_of(what.owner)](std::size_t who) { return nodes_[who]->may_know(number); },
      how.release(what, terms), patience);
}

void quorum::abandon(recipe const& how, owned what, release_policy terms, scripting::send_options patience) {
  note_over(what.owner);
  auto const script = how.abandon(what, terms);
  auto const number = number_of(what.owner);
  for (auto const& one : nodes_) {
    if (one->may_know(number)) one->send(scripting::to_run(script, {}, patience));
  }
}

}  // namespace holdfast::engine
