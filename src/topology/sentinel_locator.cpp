#include "topology/sentinel_locator.hpp"

#include <algorithm>
#include <exception>
#include <utility>

namespace holdfast::topology {
namespace {

/// How long the other sentinels may take once one has named a master.
constexpr std::chrono::milliseconds grace{200};
/// How long the connections for queries stay open without a query.
constexpr std::chrono::seconds idle_limit{5};
/// Sentinels exchange their state every two seconds; a longer disagreement is worth a warning.
constexpr std::chrono::seconds longest_disagreement{4};
/// How long the second query before that warning may take.
constexpr std::chrono::seconds confirmation_time{1};
/// The least pause before sentinels with an older view are asked again.
constexpr std::chrono::seconds shortest_doubt{1};
/// A choice younger than this is used without another query.
constexpr std::chrono::seconds fresh_limit{1};
/// The pause before all are asked again after an allocation failed.
constexpr std::chrono::milliseconds pause_for_memory{20};
/// More than any deployment has.
constexpr std::size_t most_sentinels = 32;

net::endpoint sentinel_at(net::deployment_url const& url, net::server_address const& address) {
  auto result = url.hosts.front();
  auto const reached = url.announced(address.host, address.port);
  result.host = reached.host;
  result.port = reached.port;
  result.display = reached.display;
  return result;
}

bool same(net::endpoint const& a, net::endpoint const& b) { return a.host == b.host && a.port == b.port; }

}  // namespace

sentinel_locator::sentinel_locator(reactor::loop& loop, net::deployment_url const& url,
                                   net::settings const& config, client_stats& counts, events handlers,
                                   doubt_events on_doubt)
    : loop_{loop},
      url_{url},
      config_{config},
      counts_{counts},
      events_{std::move(handlers)},
      doubt_events_{std::move(on_doubt)},
      round_timer_{[this] { try_or_ask_again([this] { end_round(); }); }},
      rest_timer_{[this] { go_idle(); }},
      doubt_timer_{[this] { in_round_ ? ask_all() : look_again(); }},
      agreement_timer_{[this] { check_again(); }} {
  links_.reserve(url.hosts.size());
  for (auto const& host : url.hosts) links_.push_back(make_link(host));
}

/// Without memory for the step: all sentinels are asked again soon.
template <class Step>
void sentinel_locator::try_or_ask_again(Step step) noexcept {
  try {
    step();
  } catch (std::exception const&) {
    if (!shut_) loop_.arm(doubt_timer_, boot_clock::now() + pause_for_memory);
  }
}

std::unique_ptr<sentinel_link> sentinel_locator::make_link(net::endpoint endpoint) {
  return std::make_unique<sentinel_link>(
      loop_, std::move(endpoint), config_, url_.master, counts_,
      sentinel_link::events{
          .answered = [this](sentinel_link& link) { try_or_ask_again([&] { on_answered(link); }); },
          .subscribed = [](sentinel_link& link) { link.ask_anew(); },
          .switched = [this](sentinel_link& link) { on_switched(link); },
          .warning = [this](std::string message) { events_.warning(std::move(message)); }});
}

/// Adds the view's peers, so that the list outlives the hosts of the URL.
void sentinel_locator::learn(sentinel_view const& view) {
  for (auto const& peer : view.others) {
    auto endpoint = sentinel_at(url_, peer.at);
    auto const known = std::ranges::any_of(links_, [&](auto const& link) {
      auto const* const linked = link->view();
      return same(link->endpoint(), endpoint) ||
             (linked != nullptr && !linked->id.empty() && linked->id == peer.id);
    });
    if (known || links_.size() == most_sentinels) continue;
    links_.reserve(links_.size() + 1);
    auto added = make_link(std::move(endpoint));
    if (listening_) added->listen();
    if (in_round_) added->ask();
    links_.push_back(std::move(added));
  }
}

sentinel_locator::tracked_session& sentinel_locator::track(net::session& session) {
  auto const known = std::ranges::find(sessions_, &session, &tracked_session::session);
  return known != sessions_.end() ? *known : sessions_.emplace_back(tracked_session{.session = &session});
}

bool sentinel_locator::any_session_on_choice() const noexcept {
  return std::ranges::any_of(sessions_, [this](tracked_session const& tracked) {
    return tracked.session->up() && same(tracked.session->to(), chosen_->endpoint);
  });
}

bool sentinel_locator::any_session_waiting() const noexcept {
  return std::ranges::any_of(sessions_, &tracked_session::waiting);
}

bool sentinel_locator::any_link_asking() const noexcept {
  return std::ranges::any_of(links_, [](auto const& link) { return link->asking(); });
}

void sentinel_locator::locate(net::session& session) {
  auto& tracked = track(session);
  auto const now = boot_clock::now();
  if (chosen_ && tracked.tried < chosen_->number) {
    auto const serves = any_session_on_choice();
    if (serves || now < chosen_->made + fresh_limit) {
      tracked.tried = chosen_->number;
      session.found(chosen_->endpoint, serves ? now : chosen_->asked_at);
      return;
    }
  }
  tracked.waiting = true;
  if (in_round_) {
    try_or_ask_again([this] { conclude(); });
  } else {
    look_again();
  }
}

void sentinel_locator::look_again() noexcept {
  if (shut_ || std::exchange(in_round_, true)) return;
  loop_.arm(round_timer_, boot_clock::now() + config_.connect_timeout / 2);  // the rest is for the master
  ask_all();
}

void sentinel_locator::ask_all() noexcept {
  loop_.arm(rest_timer_, boot_clock::now() + idle_limit);
  // By index: an answer may come at once, and add links.
  for (std::size_t i = 0; i != links_.size(); ++i)
    doubts_ == doubts::none ? links_[i]->ask() : links_[i]->ask_anew();
}

std::vector<sentinel_view const*> sentinel_locator::views() const {
  std::vector<sentinel_view const*> all;
  for (auto const& link : links_) {
    if (!link->asking() && link->view() != nullptr) all.push_back(link->view());
  }
  return all;
}

/// When the first of the queries was begun by whose results views() goes.
time_point sentinel_locator::oldest_question() const noexcept {
  auto oldest = time_point::max();
  for (auto const& link : links_) {
    if (!link->asking() && link->view() != nullptr) oldest = std::min(oldest, link->asked_at());
  }
  return oldest;
}

void sentinel_locator::on_answered(sentinel_link& link) {
  if (shut_) return;
  loop_.arm(rest_timer_, boot_clock::now() + idle_limit);
  auto const* const view = link.view();
  if (view != nullptr) {
    learn(*view);
    if (known_.hear(*view)) {
      move_sessions(link.asked_at());
    } else if (chosen_ && view->master && *view->master != chosen_->master && link.view_changed()) {
      look_again();  // a majority may report this master by now
    }
  }
  check_agreement();
  if (in_round_) conclude();
  end_doubts();
}

/// Ends the round if there is nothing left to wait for.
void sentinel_locator::conclude() {
  auto const best = verdict();
  auto const settled = best && best->settled;
  // In doubt the others are waited for, too: one may have heard of a failover since the majority answered.
  if ((settled && doubts_ == doubts::none) || !any_link_asking()) {
    end_round();
  } else if (settled || (best && any_session_waiting())) {
    auto const limit = boot_clock::now() + grace;
    if (limit < round_timer_.when()) loop_.arm(round_timer_, limit);
  }
}

void sentinel_locator::end_round() {
  in_round_ = false;
  round_timer_.disarm();
  auto const best = verdict();
  if (best) {
    use(*best);
  } else {
    fail_waiting();
  }
  if (doubts_ == doubts::with_next_round && !in_round_) {
    doubts_ = doubts::with_this_round;
    look_again();
  }
  end_doubts();
}

void sentinel_locator::use(sentinel_verdict const& best) {
  auto const now = boot_clock::now();
  // Newer views were used on arrival. Otherwise only a majority moves sessions off a master that serves.
  auto const relevant = best.settled || !choice_serves();
  if (relevant && !known_.weigh(best, now) && known_.doubted_until() != time_point::max()) {
    loop_.arm(doubt_timer_, std::max(known_.doubted_until(), now + shortest_doubt));
  }
  if (any_session_waiting() || (chosen_ && chosen_->master != *known_.where())) {
    move_sessions(oldest_question());
  }
}

/// A waiting session has failed with the last choice, unless another session is connected to it.
bool sentinel_locator::choice_serves() const noexcept {
  return chosen_ && (!any_session_waiting() || any_session_on_choice());
}

std::optional<sentinel_verdict> sentinel_locator::verdict() const {
  auto const asked = std::ranges::count_if(links_, [](auto const& link) { return link->asking(); });
  return verdict_of(views(), known_.where(), choice_serves() ? tie::stay : tie::leave,
                    static_cast<std::size_t>(asked));
}

/// Sends the waiting sessions, and sessions on other servers, to the known master.
void sentinel_locator::move_sessions(time_point asked_at) {
  auto const& master = *known_.where();
  auto const endpoint = url_.announced(master.host, master.port);
  auto const is_new = chosen_ && chosen_->master != master;
  auto name = net::host_and_port(endpoint.host, endpoint.port);
  auto const reason = "the sentinels name another master, " + name;
  choice next{.master = master,
              .endpoint = endpoint,
              .number = choices_ + 1,
              .made = boot_clock::now(),
              .asked_at = asked_at};
  chosen_ = std::move(next);
  ++choices_;
  // By index: a callback about a broken connection may make another session.
  for (std::size_t i = 0; i != sessions_.size(); ++i) {
    auto& session = *sessions_[i].session;
    if (std::exchange(sessions_[i].waiting, false)) {
      sessions_[i].tried = chosen_->number;
      session.found(endpoint, asked_at);
    } else if (is_new && !same(session.to(), endpoint)) {
      session.move(reason);
    }
  }
  if (!is_new) return;
  try {
    events_.moved(name);
  } catch (std::exception const&) {
    loop_.note_out_of_memory();
  }
}

/// The announcement may be late: a delayed one looks as new as a fresh one. So it isn't used; the sentinel is
/// asked instead, and reports the epoch, too. The master that may be replaced isn't believed meanwhile.
void sentinel_locator::on_switched(sentinel_link& link) noexcept {
  if (shut_) return;
  loop_.arm(rest_timer_, boot_clock::now() + idle_limit);
  if (doubts_ == doubts::none) doubts_ = doubts::with_this_round;
  doubt_events_.begun();
  link.ask_anew();
}

void sentinel_locator::doubt() noexcept {
  if (shut_) return;
  doubts_ = in_round_ ? doubts::with_next_round : doubts::with_this_round;
  look_again();
}

/// A sentinel that has announced another master is waited for, even if most of the others have answered: they
/// may hear of it later.
void sentinel_locator::end_doubts() noexcept {
  auto const open = in_round_ || std::ranges::any_of(links_, [](auto const& link) { return link->owes(); });
  if (open || std::exchange(doubts_, doubts::none) == doubts::none) return;
  doubt_events_.confirmed();
}

void sentinel_locator::on_reached(net::session& /*session*/) {
  if (listening_) return;
  for (auto const& link : links_) link->listen();
  listening_ = true;
}

void sentinel_locator::forget(net::session& session) noexcept {
  std::erase_if(sessions_,
                [&session](tracked_session const& tracked) { return tracked.session == &session; });
}

/// During a failover the sentinels disagree for a short time.
void sentinel_locator::check_agreement() {
  if (!disagree(views())) {
    if (any_link_asking()) return;
    agreed_ = agreement::yes;
    agreement_timer_.disarm();
  } else if (agreed_ == agreement::yes) {
    agreed_ = agreement::no;
    loop_.arm(agreement_timer_, boot_clock::now() + longest_disagreement);
  }
}

void sentinel_locator::check_again() {
  if (agreed_ == agreement::no) {
    agreed_ = agreement::asked_again;
    look_again();
    loop_.arm(agreement_timer_, boot_clock::now() + confirmation_time);
  } else if (!disagree(views())) {
    agreed_ = agreement::yes;
  } else {
    agreed_ = agreement::told;
    events_.warning(config_.server.display + ": the sentinels disagree on the master: " + describe_views() +
                    "; the newest word, or else that of most, counts: look at SENTINEL MASTERS on each");
  }
}

void sentinel_locator::go_idle() noexcept {
  if (in_round_) {
    loop_.arm(rest_timer_, boot_clock::now() + idle_limit);
    return;
  }
  for (auto const& link : links_) link->go_idle();
  end_doubts();
}

void sentinel_locator::shut() noexcept {
  shut_ = true;
  in_round_ = false;
  round_timer_.disarm();
  rest_timer_.disarm();
  doubt_timer_.disarm();
  agreement_timer_.disarm();
  for (auto const& link : links_) link->shut();
}

}  // namespace holdfast::topology
