#include "topology/sentinels.hpp"

#include <algorithm>
#include <exception>
#include <utility>

namespace holdfast::topology {
namespace {

/// How long the rest of the sentinels may take once one has named a master.
constexpr std::chrono::milliseconds grace{200};
/// How long the connections that sentinels are asked over stay without a question.
constexpr std::chrono::seconds idle_limit{5};
/// News travels among sentinels in two seconds; if they still disagree then, somebody should know.
constexpr std::chrono::seconds moment{4};
/// How long they have to say it again.
constexpr std::chrono::seconds second_look{1};
/// Until those are asked again who say something older than what is known.
constexpr std::chrono::seconds shortest_doubt{1};
/// A choice as young as this needs no second question.
constexpr std::chrono::seconds fresh{1};
/// Before all are asked again, since there was no memory for what they said.
constexpr std::chrono::milliseconds pause_for_memory{20};
/// More than anybody has.
constexpr std::size_t most_sentinels = 32;

net::endpoint sentinel_at(net::deployment_url const& where, address const& at) {
  auto one = where.hosts.front();
  auto const reached = where.announced(at.host, at.port);
  one.host = reached.host;
  one.port = reached.port;
  one.display = reached.display;
  return one;
}

bool same(net::endpoint const& a, net::endpoint const& b) { return a.host == b.host && a.port == b.port; }

}  // namespace

sentinels::sentinels(reactor::loop& on, net::deployment_url const& where, net::settings const& how,
                     client_stats& counts, events tell)
    : on_{on},
      where_{where},
      how_{how},
      counts_{counts},
      tell_{std::move(tell)},
      round_timer_{[this] { go([this] { end_round(); }); }},
      rest_timer_{[this] { rest(); }},
      doubt_timer_{[this] { in_round_ ? ask_all() : look_again(); }},
      agreement_timer_{[this] { check_again(); }} {
  lines_.reserve(where.hosts.size());
  for (auto const& host : where.hosts) lines_.push_back(line_to(host));
}

/// Without memory for it all are asked again soon.
template <class Step>
void sentinels::go(Step step) noexcept {
  try {
    step();
  } catch (std::exception const&) {
    if (!shut_) on_.arm(doubt_timer_, boot_clock::now() + pause_for_memory);
  }
}

std::unique_ptr<sentinel_link> sentinels::line_to(net::endpoint at) {
  return std::make_unique<sentinel_link>(
      on_, std::move(at), how_, where_.master, counts_,
      sentinel_link::events{.answered = [this](sentinel_link& by) { go([&] { on_answered(by); }); },
                            .hears = [](sentinel_link& by) { by.ask_anew(); },
                            .switched = [this](sentinel_link& by) { on_switched(by); },
                            .warning = [this](std::string message) { tell_.warning(std::move(message)); }});
}

/// So that the list outlives the hosts of the URL.
void sentinels::learn(sentinel_view const& from) {
  for (auto const& other : from.others) {
    auto at = sentinel_at(where_, other.at);
    auto const known = std::ranges::any_of(lines_, [&](auto const& line) {
      auto const* const said = line->view();
      return same(line->at(), at) || (said != nullptr && !said->id.empty() && said->id == other.id);
    });
    if (known || lines_.size() == most_sentinels) continue;
    lines_.reserve(lines_.size() + 1);
    auto another = line_to(std::move(at));
    if (listening_) another->listen();
    if (in_round_) another->ask();
    lines_.push_back(std::move(another));
  }
}

sentinels::user& sentinels::user_of(net::session& who) {
  auto const known = std::ranges::find(users_, &who, &user::who);
  return known != users_.end() ? *known : users_.emplace_back(user{.who = &who});
}

bool sentinels::someone_is_there() const noexcept {
  return std::ranges::any_of(
      users_, [this](user const& one) { return one.who->up() && same(one.who->to(), chosen_->at); });
}

bool sentinels::anyone_waits() const noexcept { return std::ranges::any_of(users_, &user::waiting); }

bool sentinels::anyone_is_asked() const noexcept {
  return std::ranges::any_of(lines_, [](auto const& line) { return line->asking(); });
}

void sentinels::locate(net::session& who) {
  auto& mine = user_of(who);
  auto const known = chosen_ && mine.tried < chosen_->number &&
                     (someone_is_there() || boot_clock::now() < chosen_->made + fresh);
  if (known) {
    mine.tried = chosen_->number;
    who.found(chosen_->at);
    return;
  }
  mine.waiting = true;
  if (in_round_) {
    go([this] { conclude(); });
  } else {
    look_again();
  }
}

void sentinels::look_again() noexcept {
  if (shut_ || std::exchange(in_round_, true)) return;
  on_.arm(round_timer_, boot_clock::now() + how_.connect_timeout / 2);  // the rest is for the master
  ask_all();
}

void sentinels::ask_all() noexcept {
  on_.arm(rest_timer_, boot_clock::now() + idle_limit);
  // By number: an answer may come at once, and bring more of them.
  for (std::size_t i = 0; i != lines_.size(); ++i) lines_[i]->ask();
}

std::vector<sentinel_view const*> sentinels::views() const {
  std::vector<sentinel_view const*> all;
  for (auto const& line : lines_) {
    if (!line->asking() && line->view() != nullptr) all.push_back(line->view());
  }
  return all;
}

void sentinels::on_answered(sentinel_link& by) {
  if (shut_) return;
  on_.arm(rest_timer_, boot_clock::now() + idle_limit);
  auto const* const said = by.view();
  if (said != nullptr) {
    learn(*said);
    if (known_.hear(*said)) {
      go_there();
    } else if (chosen_ && said->master && *said->master != chosen_->master && by.says_something_else()) {
      look_again();  // it may be one of most who say so by now
    }
  }
  check_agreement();
  if (in_round_) conclude();
}

/// Ends the round if there is nothing left to wait for.
void sentinels::conclude() {
  auto const best = verdict();
  if ((best && best->settled) || !anyone_is_asked()) {
    end_round();
  } else if (best && anyone_waits()) {
    auto const limit = boot_clock::now() + grace;
    if (limit < round_timer_.when()) on_.arm(round_timer_, limit);
  }
}

void sentinels::end_round() {
  in_round_ = false;
  round_timer_.disarm();
  auto const best = verdict();
  if (!best) {
    fail_waiting();
    return;
  }
  auto const now = boot_clock::now();
  // What is newer was believed when it came; else only most of them make anybody leave what serves.
  auto const counts = best->settled || !serves();
  if (counts && !known_.weigh(*best, now) && known_.doubted_until() != time_point::max()) {
    on_.arm(doubt_timer_, std::max(known_.doubted_until(), now + shortest_doubt));
  }
  if (anyone_waits() || (chosen_ && chosen_->master != *known_.where())) go_there();
}

/// The last choice does: whoever waits had no luck with it, unless others have.
bool sentinels::serves() const noexcept { return chosen_ && (!anyone_waits() || someone_is_there()); }

std::optional<sentinel_verdict> sentinels::verdict() const {
  auto const asked = std::ranges::count_if(lines_, [](auto const& line) { return line->asking(); });
  return verdict_of(views(), known_.where(), serves() ? tie::stay : tie::leave,
                    static_cast<std::size_t>(asked));
}

/// To the master that is known: whoever waits, and those that are elsewhere.
void sentinels::go_there() {
  auto const& master = *known_.where();
  auto const at = where_.announced(master.host, master.port);
  auto const is_new = chosen_ && chosen_->master != master;
  auto name = net::host_and_port(at.host, at.port);
  auto const why = "the sentinels name another master, " + name;
  choice next{.master = master, .at = at, .number = choices_ + 1, .made = boot_clock::now()};
  chosen_ = std::move(next);
  ++choices_;
  // By number: whoever hears of a broken line may make another.
  for (std::size_t i = 0; i != users_.size(); ++i) {
    auto& who = *users_[i].who;
    if (std::exchange(users_[i].waiting, false)) {
      users_[i].tried = chosen_->number;
      who.found(at);
    } else if (is_new && !same(who.to(), at)) {
      who.move(why);
    }
  }
  if (!is_new) return;
  try {
    tell_.moved(name);
  } catch (std::exception const&) {
    on_.torn();
  }
}

/// A failover is over, or was long ago: what was held up on its way to us looks just as new. So it isn't
/// believed; the sentinel is asked, which says, too, which failover its word is from.
void sentinels::on_switched(sentinel_link& by) noexcept {
  if (shut_) return;
  on_.arm(rest_timer_, boot_clock::now() + idle_limit);
  by.ask_anew();
}

void sentinels::on_reached(net::session& /*who*/) {
  if (listening_) return;
  for (auto const& line : lines_) line->listen();
  listening_ = true;
}

void sentinels::forget(net::session& who) noexcept {
  std::erase_if(users_, [&who](user const& one) { return one.who == &who; });
}

std::string sentinels::who_says_what() const {
  std::string all;
  for (auto const& line : lines_) {
    auto const name = net::host_and_port(line->at().host, line->at().port);
    all += all.empty() ? "" : "; ";
    if (line->asking()) {
      all += name + " doesn't answer";
    } else if (line->view() == nullptr) {
      all += line->trouble() ? line->trouble()->what() : name + " wasn't asked";
    } else if (auto const& master = line->view()->master; master) {
      all += name + " says " + net::host_and_port(master->host, master->port);
    } else {
      all += name + " knows no such master";
    }
  }
  return all;
}

/// No sentinel names a master.
void sentinels::fail_waiting() {
  std::vector<std::string> names;
  auto answered = false;
  auto code = errc::unreachable;
  for (auto const& line : lines_) {
    if (line->asking()) continue;
    answered = answered || line->view() != nullptr;
    for (auto const& name : line->names()) {
      if (std::ranges::find(names, name) == names.end()) names.push_back(name);
    }
    if (line->trouble() && line->trouble()->code() != errc::unreachable)
      code = static_cast<errc>(line->trouble()->code().value());
  }
  std::string why;
  if (answered) {
    std::string known;
    for (auto const& name : names) known += (known.empty() ? "\"" : ", \"") + name + '"';
    code = errc::bad_url;
    why = "the sentinels know no master \"" + where_.master + "\"" +
          (known.empty() ? ", nor any other: look at their configuration (sentinel monitor)"
                         : "; they know " + known) +
          " (" + who_says_what() + ")";
  } else {
    why = "no sentinel can say where the master is: " + who_says_what();
  }
  if (code != errc::unreachable) why = how_.server.display + ": " + why;  // otherwise the session says it
  auto const how = code == errc::unauthorized ? net::session::end::final : net::session::end::broken;
  for (std::size_t i = 0; i != users_.size(); ++i) {
    if (std::exchange(users_[i].waiting, false)) users_[i].who->not_found(code, why, how);
  }
}

/// In a failover they disagree for a moment.
void sentinels::check_agreement() {
  if (!disagree(views())) {
    if (anyone_is_asked()) return;
    agreed_ = agreement::yes;
    agreement_timer_.disarm();
  } else if (agreed_ == agreement::yes) {
    agreed_ = agreement::no;
    on_.arm(agreement_timer_, boot_clock::now() + moment);
  }
}

void sentinels::check_again() {
  if (agreed_ == agreement::no) {
    agreed_ = agreement::asked_again;
    look_again();
    on_.arm(agreement_timer_, boot_clock::now() + second_look);
  } else if (!disagree(views())) {
    agreed_ = agreement::yes;
  } else {
    agreed_ = agreement::told;
    tell_.warning(how_.server.display + ": the sentinels disagree on the master: " + who_says_what() +
                  "; the newest word, or else that of most, counts: look at SENTINEL MASTERS on each");
  }
}

void sentinels::rest() noexcept {
  if (in_round_) {
    on_.arm(rest_timer_, boot_clock::now() + idle_limit);
    return;
  }
  for (auto const& line : lines_) line->rest();
}

void sentinels::shut() noexcept {
  shut_ = true;
  in_round_ = false;
  round_timer_.disarm();
  rest_timer_.disarm();
  doubt_timer_.disarm();
  agreement_timer_.disarm();
  for (auto const& line : lines_) line->shut();
}

}  // namespace holdfast::topology
