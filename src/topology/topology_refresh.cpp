#include "topology/topology_refresh.hpp"

#include <algorithm>
#include <exception>
#include <string_view>
#include <utility>

#include "base/ids.hpp"
#include "resp/command.hpp"

namespace holdfast::topology {
namespace {

/// How many are asked at once, and when so many more, without an answer that serves.
constexpr std::size_t width = 3;
constexpr std::chrono::milliseconds patience_with_them{200};

/// Between rounds, as long as something is amiss.
constexpr std::chrono::milliseconds first_pause{50};
constexpr std::chrono::milliseconds longest_pause{500};

net::request command(std::initializer_list<std::string_view> words, callback<void(net::response&&)> done) {
  net::request result;
  resp::append_command(result.bytes, words);
  result.done = std::move(done);
  result.stays = true;
  return result;
}

/// Why a node didn't tell, and what to do.
std::shared_ptr<error const> explain(resp::reply const& refusal, net::endpoint const& node) {
  auto const has = [&refusal](std::string_view words) {
    return refusal.text.find(words) != std::string::npos;
  };
  if (has("cluster support disabled") || has("unknown command")) {
    return std::make_shared<error const>(errc::refused, node.display + " is no node of a cluster (it says: " +
                                                            refusal.text + "); use the URL " + node.display);
  }
  if (refusal.is_error("NOPERM")) {
    return std::make_shared<error const>(
        errc::unauthorized, node.display + " doesn't let this user ask for the slots of the cluster: " +
                                refusal.text + "; grant +cluster|slots and +cluster|info");
  }
  return std::make_shared<error const>(
      errc::refused, node.display + " doesn't tell the slots of the cluster: " +
                         (refusal.is_error() ? refusal.text : "that is no answer to CLUSTER SLOTS"));
}

/// The first that isn't for want of an answer decides what it is.
std::shared_ptr<error const> summary(std::vector<std::shared_ptr<error const>> const& failures) {
  auto const telling = std::ranges::find_if(
      failures, [](std::shared_ptr<error const> const& one) { return one->code() != errc::unreachable; });
  auto const& main = telling != failures.end() ? *telling : failures.front();
  auto text = std::string{main->what()};
  for (auto const& one : failures) {
    if (one != main) text += std::string{"; "} + one->what();
  }
  return std::make_shared<error const>(static_cast<errc>(main->code().value()), text);
}

}  // namespace

topology_refresh::topology_refresh(reactor::loop& on, events tell)
    : on_{on},
      tell_{std::move(tell)},
      pause_{first_pause, longest_pause},
      random_{static_cast<std::minstd_rand::result_type>(random_seed())},
      next_{[this] { go([this] { begin(); }); }},
      widen_{[this] { go([this] { ask_some(); }); }} {}

/// Without memory for it another round begins after a pause.
template <class Step>
void topology_refresh::go(Step step) noexcept {
  try {
    step();
  } catch (std::exception const&) {
    finish();
    look();
  }
}

void topology_refresh::look() noexcept {
  if (running_) {
    again_ = true;
  } else if (!next_.armed()) {
    // The first round ended at the clock's epoch, as it were: it begins at once.
    on_.arm(next_, std::max(boot_clock::now(), ended_ + pause_.next(random_)));
  }
}

void topology_refresh::look_at(cluster_node& first) noexcept {
  first_ = &first;
  look();
}

bool topology_refresh::needs(cluster_node const& one) const {
  return first_ == &one || std::ranges::find(to_ask_, &one) != to_ask_.end() ||
         std::ranges::find(unanswered_, &one) != unanswered_.end();
}

void topology_refresh::begin() {
  running_ = true;
  again_ = false;
  ++round_;
  open_ = 0;
  second_best_.reset();
  failures_.clear();
  to_ask_ = tell_.candidates();
  std::ranges::reverse(to_ask_);
  if (auto* const first = std::exchange(first_, nullptr)) {
    std::erase(to_ask_, first);
    to_ask_.push_back(first);
  }
  ask_some();
}

void topology_refresh::ask_some() {
  for (std::size_t i = 0; i != width && !to_ask_.empty(); ++i) {
    auto& next = *to_ask_.back();
    to_ask_.pop_back();
    auto const owes = std::ranges::find(unanswered_, &next) != unanswered_.end();
    if (!owes) ask(next);
  }
  if (!to_ask_.empty()) {
    on_.arm(widen_, boot_clock::now() + patience_with_them);
  } else {
    finish_if_over();
  }
}

void topology_refresh::ask(cluster_node& whom) {
  auto const mine = std::make_shared<inquiry>(inquiry{.whom = &whom, .round = round_, .what = {}});
  auto& line = whom.over(net::connection_role::usual);
  unanswered_.reserve(unanswered_.size() + 1);
  // What else is to be known comes first: CLUSTER SLOTS ends it.
  line.send(command({"CLUSTER", "INFO"},
                    [mine](net::response&& how) { mine->what.health = read_health(how.reply); }));
  line.send(command({"PUBSUB", "SHARDNUMSUB"}, [mine](net::response&& how) {
    if (!how.failure) mine->what.sharded = how.reply.is_array() || how.reply.is_error("NOPERM");
  }));
  auto last = command({"CLUSTER", "SLOTS"},
                      [this, mine](net::response&& how) { go([&] { on_answer(*mine, std::move(how)); }); });
  ++open_;
  unanswered_.push_back(&whom);
  try {
    line.send(std::move(last));
  } catch (std::exception const&) {
    --open_;
    std::erase(unanswered_, &whom);
    throw;
  }
}

void topology_refresh::on_answer(inquiry& mine, net::response&& how) {
  std::erase(unanswered_, mine.whom);
  auto const in_time = running_ && mine.round == round_;
  if (in_time) --open_;
  auto slots = how.failure ? std::nullopt : read_slots(how.reply, mine.whom->where().host);
  if (!slots) {
    if (in_time) on_refused(mine, how);
    return;
  }
  mine.what.slots = *std::move(slots);
  auto const& health = mine.what.health;
  if (health.epoch < epoch_) {  // behind; believed when there is nobody else
    if (!in_time) return;
    if (!second_best_ || second_best_->what.health.epoch < health.epoch) {
      second_best_ = std::make_unique<inquiry>(std::move(mine));
    }
    finish_if_over();
    return;
  }
  if (!in_time && health.epoch == epoch_) return;  // nothing new
  epoch_ = health.epoch;
  second_best_.reset();
  auto const ends = in_time && health.ok;
  if (ends) finish();
  tell_.found(*mine.whom, mine.what);
  if (in_time && !ends) finish_if_over();
}

void topology_refresh::on_refused(inquiry const& mine, net::response const& how) {
  failures_.push_back(how.failure ? how.failure : explain(how.reply, mine.whom->where()));
  if (open_ == 0 && !to_ask_.empty()) {
    ask_some();
  } else {
    finish_if_over();
  }
}

/// Nobody is left to be asked.
void topology_refresh::finish_if_over() {
  if (!running_ || open_ != 0 || !to_ask_.empty()) return;
  auto const second = std::exchange(second_best_, nullptr);
  auto const why = failures_.empty() ? nullptr : summary(failures_);
  finish();
  if (second) {
    epoch_ = second->what.health.epoch;
    tell_.found(*second->whom, second->what);
  } else {
    tell_.failed(why);
  }
}

void topology_refresh::finish() noexcept {
  running_ = false;
  to_ask_.clear();
  widen_.disarm();
  failures_.clear();
  ended_ = boot_clock::now();
  if (std::exchange(again_, false)) look();
}

}  // namespace holdfast::topology
