#include "engine/deadlock/circle.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "base/whole_number.hpp"
#include "engine/record.hpp"
#include "script/names.hpp"
#include "scripts/deadlock.hpp"

namespace holdfast::engine {
namespace {

/// Of one reading. More is left unseen.
constexpr std::size_t most_waits = 64;
constexpr std::size_t most_looks = 64;

/// How often a wait is said again before the next one counts as the youngest.
constexpr std::int64_t patience_with_the_younger = 4;

/// Takes a number and the character behind it off the front.
template <class Number>
bool take_number(std::string_view& text, char end, Number& number) {
  auto const [rest, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem != std::errc{} || rest == text.data() + text.size() || *rest != end) return false;
  text.remove_prefix(static_cast<std::size_t>(rest - text.data()) + 1);
  return true;
}

bool take_names(std::string_view text, std::vector<std::string>& names) {
  while (!text.empty()) {
    std::size_t size = 0;
    if (!take_number(text, ':', size) || size > text.size()) return false;
    names.emplace_back(text.substr(0, size));
    text.remove_prefix(size);
  }
  return !names.empty();
}

/// A count as Redis writes a score; 0: it is none.
std::int64_t count_of(std::string_view score) { return whole_number(score).value_or(0); }

bool same(blocked_hold const& a, blocked_hold const& b) {
  return a.name == b.name && a.owner == b.owner && a.wait.id == b.wait.id;
}

/// Who is in the way, as the text of a wait says it.
constexpr std::array<std::pair<char, blocked_by>, 4> letters{{{'r', blocked_by::writer},
                                                              {'w', blocked_by::all},
                                                              {'u', blocked_by::upgrade},
                                                              {'x', blocked_by::others}}};

/// Whether the wait lasts at least as long as that hold.
bool waits_for(blocked_wait const& wait, blocked_hold const& hold) {
  auto const upgrade_lease = hold.by_readers && hold.owner.ends_with(names::upgrade_suffix);
  switch (wait.blocked_by) {
    case blocked_by::all:
      return true;
    case blocked_by::writer:
      return !hold.by_readers;
    case blocked_by::upgrade:
      return !hold.by_readers || upgrade_lease;
    case blocked_by::others:
      return hold.by_readers && !upgrade_lease;
    case blocked_by::unknown:
      break;
  }
  return false;
}

}  // namespace

std::string blocked_wait::to_text() const {
  auto const* const known =
      std::ranges::find(letters, blocked_by, &std::pair<char, engine::blocked_by>::second);
  auto const letter = known == letters.end() ? 'w' : known->first;
  auto text = id + ' ' + std::to_string(since.count()) + ' ' + letter + ' ';
  for (auto const& name : names) text.append(std::to_string(name.size())).append(":").append(name);
  return text;
}

std::optional<blocked_wait> blocked_wait::from_text(std::string_view text) {
  blocked_wait wait;
  auto const space = std::min(text.find(' '), text.size());
  wait.id = text.substr(0, space);
  if (uuid_of(wait.id).empty() || space == text.size()) return std::nullopt;
  text.remove_prefix(space + 1);
  std::int64_t since = 0;
  if (!take_number(text, ' ', since) || since <= 0) return std::nullopt;
  if (text.size() < 2 || text[1] != ' ') return std::nullopt;
  auto const* const known = std::ranges::find(letters, text[0], &std::pair<char, engine::blocked_by>::first);
  if (known == letters.end()) return std::nullopt;
  wait.since = std::chrono::microseconds{since};
  wait.blocked_by = known->second;
  if (!take_names(text.substr(2), wait.names)) return std::nullopt;
  return wait;
}

call look_at_holders(std::string_view name) {
  auto const readers = names::readers(name);
  auto const blocked = names::blocked(name);
  return scripts::deadlock::look{.lock = {name}, .readers = {readers}, .blocked = {blocked}}();
}

blocked_holds read_blocked_holds(std::string_view name, resp::reply const& reply) {
  blocked_holds found;
  if (reply.size() < 2) return found;
  found.now = std::chrono::microseconds{reply[0].integer};
  auto const by_readers = reply[1].text == "by readers";
  for (std::size_t i = 2; i != reply.size(); ++i) {
    auto const& holder = reply[i];
    for (std::size_t j = 1; j + 1 < holder.size(); j += 2) {
      auto wait = blocked_wait::from_text(holder[j].text);
      auto const statements = count_of(holder[j + 1].text);
      if (!wait || statements <= 0) continue;
      found.all.push_back({.name = std::string{name},
                           .owner = holder[0].text,
                           .by_readers = by_readers,
                           .wait = std::move(*wait),
                           .statements = statements});
    }
  }
  return found;
}

circle_search::circle_search(blocked_wait start) { add({.wait = std::move(start)}); }

void circle_search::add(visit next) {
  if (visits_.size() == most_waits) return;
  for (auto const& name : next.wait.names) questions_.push_back({visits_.size(), name});
  visits_.push_back(std::move(next));
}

std::optional<std::string> circle_search::next() {
  while (circle_.empty() && asked_ != questions_.size()) {
    auto const known = known_.find(questions_[asked_].name);
    if (known == known_.end()) {
      if (known_.size() == most_looks) return std::nullopt;
      return questions_[asked_].name;
    }
    auto const asked = questions_[asked_++];
    visit_all(asked, known->second);
  }
  return std::nullopt;
}

void circle_search::found(std::vector<blocked_hold> holds) {
  known_.emplace(questions_[asked_].name, std::move(holds));
}

void circle_search::visit_all(question const& asked, std::vector<blocked_hold> const& holds) {
  for (auto const& hold : holds) {
    if (!waits_for(visits_[asked.asker].wait, hold)) continue;
    auto const seen =
        std::ranges::find_if(visits_, [&hold](visit const& each) { return each.wait.id == hold.wait.id; });
    if (seen == visits_.end()) {
      add({.wait = hold.wait, .before = asked.asker, .by = hold});
    } else if (seen == visits_.begin()) {
      circle_.push_back(hold);
      for (auto at = asked.asker; at != 0; at = visits_[at].before) circle_.push_back(visits_[at].by);
      std::ranges::reverse(circle_);
      return;
    }
  }
}

suspicion::step suspicion::judge(std::vector<blocked_hold> circle, std::string_view own, reader by) {
  if (circle.empty()) {
    *this = {};
    return step::none;
  }
  if (!std::ranges::equal(circle, suspected_, same)) {
    suspected_ = std::move(circle);
    statements_.clear();
    return step::read_again;
  }
  if (statements_.empty()) {
    std::vector<std::int64_t> statements;
    statements.reserve(circle.size());
    for (auto const& hold : circle) statements.push_back(hold.statements);
    statements_ = std::move(statements);
    return step::wait;
  }
  auto const& own_wait =
      std::ranges::find_if(circle, [own](blocked_hold const& hold) { return hold.wait.id == own; })->wait;
  auto const younger = std::ranges::count_if(
      circle, [&own_wait](blocked_hold const& hold) { return hold.wait.younger_than(own_wait); });
  auto const often = (by == reader::ends_it ? 3 : 2) + patience_with_the_younger * younger;
  for (std::size_t i = 0; i != circle.size(); ++i) {
    if (circle[i].statements < statements_[i] + often) return step::wait;
  }
  return step::certain;
}

}  // namespace holdfast::engine
