#include "judge/history_file.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <limits>
#include <system_error>
#include <type_traits>

#include "base/whole_number.hpp"

namespace holdfast::judging {
namespace {

using history::event;
using history::kind;

constexpr std::int64_t ns_per_ms = 1'000'000;
/// Of a time, or any other number; of a wall clock; of a count. Sums and differences of some are within the
/// type.
constexpr std::int64_t most = std::int64_t{1} << 60;
constexpr std::int64_t latest = std::int64_t{1} << 62;
constexpr std::int64_t highest_count = std::int64_t{1} << 53;  // of a latch

/// Of one line: 64 names of 64 KiB, with each byte written as six.
constexpr std::size_t longest_line = 32U << 20U;
constexpr std::size_t bytes_at_a_time = 64U << 10U;

constexpr std::array<std::string_view, 6> loss_words{"forced",      "taken_over",    "key_gone",
                                                     "unreachable", "limit_reached", "closed"};

company company_of(kind of) noexcept {
  switch (of) {
    case kind::read:
      return company::readers;
    case kind::upgrade:
      return company::upgrade;
    case kind::permits:
    case kind::semaphore:
      return company::permits;
    default:
      return company::none;
  }
}

template <class Table>
std::uint32_t index_of(Table& table, std::unordered_map<std::string, std::uint32_t>& known,
                       std::string const& key, typename Table::value_type value) {
  auto const [at, is_new] = known.try_emplace(key, static_cast<std::uint32_t>(table.size()));
  if (is_new) table.push_back(std::move(value));
  return at->second;
}

}  // namespace

history_file::history_file(tables& known, std::string path)
    : known_{known},
      path_{std::move(path)},
      file_{path_, std::ios::binary},
      index_{static_cast<std::uint16_t>(known.files.size())} {
  auto const problem = errno;
  if (!file_) throw unreadable{path_ + " can't be read: " + std::generic_category().message(problem)};
  if (known.files.size() > std::numeric_limits<std::uint16_t>::max())
    throw unreadable{path_ + ": these are more files than the " +
                     std::to_string(std::numeric_limits<std::uint16_t>::max() + 1) +
                     " that can be judged together; several may be joined to one, with cat"};
  known.files.push_back(path_);
}

void history_file::refuse(std::string const& why) const {
  throw unreadable{path_ + ", line " + std::to_string(count_) + ": " + why};
}

bool history_file::read_line() {
  line_.clear();
  for (;;) {
    if (used_ == buffer_.size()) {
      buffer_.resize(bytes_at_a_time);
      errno = 0;
      file_.read(buffer_.data(), static_cast<std::streamsize>(buffer_.size()));
      auto const problem = errno;
      buffer_.resize(static_cast<std::size_t>(file_.gcount()));
      used_ = 0;
      if (file_.bad()) {  // a folder, for example
        throw unreadable{path_ + (count_ == 0 ? " can't be read: " : " can't be read any further: ") +
                         std::generic_category().message(problem)};
      }
    }
    if (buffer_.empty() && line_.empty()) return false;
    auto const end = buffer_.find('\n', used_);
    auto const to = std::min(end, buffer_.size());
    line_.append(buffer_, used_, to - used_);
    used_ = end == std::string::npos ? to : to + 1;
    if (end != std::string::npos) {
      ++count_;
      return true;
    }
    if (line_.size() > longest_line || buffer_.empty()) {
      ++count_;
      refuse(buffer_.empty() ? "the line is cut off: it doesn't end"
                             : "the line is longer than any line of a history");
    }
  }
}

std::optional<record> history_file::next() {
  if (!read_line()) {
    if (count_ == 0) throw unreadable{path_ + ": the file is empty, so it is no history"};
    return std::nullopt;
  }
  if (auto const wrong = fields_.read(line_); !wrong.empty())
    refuse((count_ == 1 ? "this is no history: " : "the line is no part of a history: ") +
           std::string{wrong});
  record result{.file = index_, .line = count_};
  auto const known = history::value_of<event>(text("e"), history::event_words);
  if (!known) refuse("there is no event \"" + text("e") + "\"");
  result.event = *known;
  result.t = time("t");
  if (result.event == event::client)
    read_header(result);
  else
    read_client(result);
  read_rest(result);
  return result;
}

std::int64_t history_file::number(std::string_view key, std::int64_t least, std::int64_t greatest) const {
  auto const* const found = fields_.find(key, object::type::number);
  if (found == nullptr) refuse("it has no number \"" + std::string{key} + '"');
  if (found->number > greatest || found->number < least)
    refuse("\"" + std::string{key} + "\" is out of range");
  return found->number;
}

std::int64_t history_file::number(std::string_view key) const { return number(key, -most, most); }

std::int64_t history_file::number_or_0(std::string_view key) const {
  return fields_.find(key, object::type::number) == nullptr ? 0 : number(key);
}

/// In nanoseconds.
std::int64_t history_file::time(std::string_view key) const { return number(key, 0, most); }

/// A number of permits, or a count; 0: it isn't said.
std::int64_t history_file::count_or_0(std::string_view key) const {
  if (fields_.find(key, object::type::number) == nullptr) return 0;
  return number(key, -highest_count, highest_count);
}

/// As nanoseconds.
std::int64_t history_file::milliseconds(std::string_view key) const {
  return number(key, 0, most / ns_per_ms) * ns_per_ms;
}

std::string const& history_file::text(std::string_view key) const {
  auto const* const found = fields_.find(key, object::type::text);
  if (found == nullptr) refuse("it has no text \"" + std::string{key} + '"');
  return found->text;
}

void history_file::read_header(record& to) {
  if (auto const version = number("v"); version != history::version) {
    refuse("the history has version " + std::to_string(version) + ", and this holdfast reads version " +
           std::to_string(history::version));
  }
  client_facts facts{.uuid = text("c"), .host = text("host"), .boot = text("boot")};
  facts.pid = number("pid");
  facts.recheck = milliseconds("recheck");
  facts.reply_timeout = milliseconds("reply_timeout");
  facts.wall = number("wall", 0, latest);
  facts.t = facts.last = to.t;
  auto& machines = known_.machines;
  while (facts.machine != machines.size() && machines[facts.machine] != facts.boot) ++facts.machine;
  if (facts.machine == machines.size()) machines.push_back(facts.boot);
  auto const before = known_.clients.size();
  to.client = index_of(known_.clients, known_.client_of, std::string{facts.uuid}, facts);
  if (known_.clients.size() == before)
    refuse("the client " + text("c") + " begins a second time; was the same history given twice?");
}

void history_file::read_client(record& to) {
  auto const known = known_.client_of.find(text("c"));
  if (known == known_.client_of.end()) {
    refuse(count_ == 1 ? "this is no history, or its beginning is cut off: it doesn't begin with a client"
                       : "the beginning of the client " + text("c") + " is missing");
  }
  to.client = known->second;
  auto& facts = known_.clients[to.client];
  if (to.t <= facts.last)
    refuse("it is out of order: its time, " + std::to_string(to.t) +
           ", isn't behind that of the client's line before, " + std::to_string(facts.last));
  facts.last = to.t;
}

void history_file::read_lock(record& to) {
  auto const of = history::value_of<kind>(text("kind"), history::kind_words);
  if (!of) refuse("there is no kind \"" + text("kind") + "\"");
  to.of = *of;
  to.lock = lock_of_line(*of);
}

std::uint32_t history_file::lock_of_line(kind of) {
  auto const* const names = fields_.find("names", object::type::list);
  auto const* const as = fields_.find("as", object::type::list);
  if (names == nullptr || names->list.empty()) refuse("it has no list \"names\"");
  if (as != nullptr && as->list.size() != names->list.size())
    refuse("\"as\" has another length than \"names\"");
  if (as == nullptr && of == kind::mixed) refuse("it has no list \"as\"");
  lock_key_.assign(history::word_of(of));
  for (auto const& name : names->list) lock_key_.append(std::to_string(name.size())).append(":").append(name);
  if (as != nullptr) {
    for (auto const& word : as->list) lock_key_.append(" ").append(word);
  }
  if (auto const known = known_.lock_of.find(lock_key_); known != known_.lock_of.end()) return known->second;
  lock_parts all{.of = of, .parts = {}};
  for (std::size_t i = 0; i != names->list.size(); ++i)
    all.parts.push_back(part_of(of, names->list[i], as == nullptr ? std::string_view{} : as->list[i]));
  return index_of(known_.locks, known_.lock_of, lock_key_, std::move(all));
}

/// `as`, of mixed ones: write, read, or permits as "<wanted>/<all>", where 0 is unknown.
part history_file::part_of(kind of, std::string const& name, std::string_view as) {
  part result{.name = index_of(known_.names, known_.name_of, name, name), .as = company_of(of)};
  if (of != kind::mixed || as == "write") return result;
  result.as = company::readers;
  if (as == "read") return result;
  result.as = company::permits;
  auto const slash = std::min(as.find('/'), as.size());
  auto const is_number = [](std::string_view text, auto& number) {
    auto const found = whole_number<std::remove_reference_t<decltype(number)>>(text);
    number = found.value_or(0);
    return found && number >= 0 && number <= highest_count;
  };
  if (slash == as.size() || !is_number(as.substr(0, slash), result.amount) ||
      !is_number(as.substr(slash + 1), result.of_all))
    refuse("\"as\" has to be write, read, or numbers of permits, not \"" + std::string{as} + '"');
  return result;
}

void history_file::read_rest(record& to) {
  switch (to.event) {
    case event::asked:
      read_lock(to);
      to.wait = number("w");
      to.ttl = milliseconds("ttl");
      to.n = count_or_0("n");
      to.of_all = count_or_0("of");
      if (fields_.find("credit", object::type::number) != nullptr) to.credit = milliseconds("credit");
      return;
    case event::granted:
      to.lease = number("l");
      to.until = time("until");
      to.ttl = milliseconds("ttl");
      [[fallthrough]];
    case event::taken:
      read_lock(to);
      to.wait = number("w");
      to.number = number("number");
      to.instead = number_or_0("instead");
      to.token = number("token");
      to.n = count_or_0("n");
      return;
    case event::queued:
    case event::left:
      to.wait = number("w");
      return;
    case event::renewed:
    case event::resumed:
    case event::kept:
      to.until = time("until");
      [[fallthrough]];
    case event::paused:
    case event::released:
      to.lease = number("l");
      return;
    case event::lost: {
      to.lease = number("l");
      auto const cause = history::value_of<loss>(text("cause"), loss_words);
      if (!cause) refuse("there is no cause \"" + text("cause") + "\"");
      to.cause = *cause;
      return;
    }
    case event::setting:
    case event::set:
    case event::added:
    case event::counted:
    case event::opened:
      read_lock(to);
      to.n = number("n", -highest_count, highest_count);
      return;
    case event::alive:
      to.fine = number("up") != 0;
      to.unheard = fields_.find("heard", object::type::number) != nullptr && number("heard") == 0;
      return;
    case event::trouble:
      to.moved = text("why") == "moved";
      return;
    case event::client:
    case event::closed:
      return;
  }
}

}  // namespace holdfast::judging
