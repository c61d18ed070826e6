#include <holdfast/inspect.hpp>

#include "engine/access.hpp"
#include "inspect/glob.hpp"
#include "inspect/search.hpp"

namespace holdfast {
namespace {

using inspection::search;

void find_plain(search& what) {
  auto const filter = inspection::beside(what.pattern(), inspection::plain_suffixes);
  what.scan(filter, {}, [&what](search::keys const& page) { return inspection::show_plain(what, page); });
}

void find_redisson(search& what) {
  auto const filter = inspection::beside(what.pattern(), inspection::permit_suffixes);
  auto const show = [&what](search::keys const& page) { return inspection::show_permits(what, page); };
  if (inspection::find_hashes(what) && what.scan(filter, "zset", show)) inspection::find_waited_for(what);
}

/// What a server that shows the plain wire may refuse.
class attempts {
 public:
  /// `in_caller`: what is thrown is the caller's own.
  explicit attempts(bool const& in_caller) : in_caller_{in_caller} {}

  /// True also when the server refuses, or has refused before.
  template <class Look>
  bool operator()(Look const look) {
    if (refused_) return true;
    try {
      return look();
    } catch (error const& problem) {
      bool const by_server = problem.code() == errc::unauthorized || problem.code() == errc::refused;
      if (in_caller_ || !by_server) throw;
      refused_ = problem;
      return true;
    }
  }
  [[nodiscard]] std::optional<error> const& refused() const noexcept { return refused_; }

 private:
  bool const& in_caller_;
  std::optional<error> refused_{};
};

/// Of a name that was asked for.
bool wanted_by_name(lock_state const& state) {
  return inspection::wanted_of_plain(state) || inspection::wanted_of_redisson(state);
}

std::optional<error> find_on_wires(search& what, attempts try_to) {
  if (auto const start = inspection::start_of(what.pattern()); start.complete) {
    try_to([&] { return what.show({start.text}, wanted_by_name); });
    if (try_to.refused()) what.show({start.text}, inspection::wanted_of_plain, inspection::look_for::plain);
    return try_to.refused();
  }
  auto const filter = inspection::beside(what.pattern(), inspection::suffixes_of_both);
  bool const goes_on = what.scan(filter, {}, [&](search::keys const& page) {
    return inspection::show_plain(what, page) && try_to([&] { return inspection::show_permits(what, page); });
  });
  if (goes_on && try_to([&] { return inspection::find_hashes(what); }))
    try_to([&] { return inspection::find_waited_for(what); });
  return try_to.refused();
}

}  // namespace

void for_each_lock(client& redis, std::string_view pattern, std::function<bool(lock_state const&)> const& f,
                   wire of) {
  auto const server = engine::access::core_of(redis);
  server->check_kind(engine::votes::none);
  search what{*server, pattern, f};
  bool const of_redisson = (of == wire::automatic ? server->wire() : of) == wire::redisson;
  auto const start = inspection::start_of(pattern);
  if (start.complete && of_redisson) {
    what.show({start.text}, inspection::wanted_of_redisson);
  } else if (start.complete) {
    what.show({start.text}, inspection::wanted_of_plain, inspection::look_for::plain);
  } else if (of_redisson) {
    find_redisson(what);
  } else {
    find_plain(what);
  }
}

std::optional<error> for_each_lock_on_wires(client& redis, std::string_view pattern,
                                            std::function<bool(lock_state const&)> const& f) {
  auto const server = engine::access::core_of(redis);
  server->check_kind(engine::votes::none);
  bool in_caller = false;
  search::visitor const visitor = [&](lock_state const& state) {
    in_caller = true;
    bool const goes_on = f(state);
    in_caller = false;
    return goes_on;
  };
  search what{*server, pattern, visitor};
  return find_on_wires(what, attempts{in_caller});
}

}  // namespace holdfast
