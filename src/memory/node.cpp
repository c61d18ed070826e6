#include "memory/node.hpp"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <map>
#include <memory>
#include <stdexcept>
#include <utility>

#include "base/fork.hpp"

namespace holdfast::memory {
namespace {

struct directory {
  std::map<std::string, std::weak_ptr<node>, std::less<>> nodes;
  std::multimap<std::string, std::weak_ptr<node>> ended;  ///< and may have clients
};
/// Made with the first node and never destroyed, as the interpreter (server.cpp).
constinit directory* known_nodes = nullptr;

std::mutex& directory_guard() noexcept { return guard_across_fork(static_cast<void const*>(&known_nodes)); }

/// With directory_guard() held.
directory& all_nodes() {
  if (known_nodes == nullptr) known_nodes = std::make_unique<directory>().release();
  return *known_nodes;
}

/// TIME is the time of day, also beside a clock that a test holds.
std::chrono::nanoseconds wall_clock_ahead() {
  std::timespec since_boot{};
  ::clock_gettime(CLOCK_BOOTTIME, &since_boot);
  return std::chrono::system_clock::now().time_since_epoch() - std::chrono::seconds{since_boot.tv_sec} -
         std::chrono::nanoseconds{since_boot.tv_nsec};
}

std::string run_id_of(std::string const& name, std::uint64_t start) {
  return "memory-" + name + '-' + std::to_string(start);
}

}  // namespace

node::node(std::string name, int replicas)
    : name_{std::move(name)}, replicas_{replicas}, server_{run_id_of(name_, starts_)} {
  server_.data({}).set_clock_ahead(wall_clock_ahead());
}

node::~node() = default;

std::shared_ptr<node> node::make(std::string name, int replicas) {
  auto made = std::make_shared<node>(std::move(name), replicas);
  std::vector<std::shared_ptr<node>> former;
  {
    std::lock_guard const hold{directory_guard()};
    auto& all = all_nodes();
    if (!all.nodes.try_emplace(made->name(), made).second) {
      throw std::invalid_argument{"memory://" + made->name() +
                                  ": there is a deployment of that name in this process already"};
    }
    auto const [first, last] = all.ended.equal_range(made->name());
    for (auto each = first; each != last; ++each) {
      if (auto left = each->second.lock()) former.push_back(std::move(left));
    }
    all.ended.erase(first, last);
  }
  for (auto const& each : former) each->break_connections();
  return made;
}

std::shared_ptr<node> node::find(std::string_view name) {
  std::lock_guard const hold{directory_guard()};
  auto const& all = all_nodes();
  auto const known = all.nodes.find(name);
  return known == all.nodes.end() ? nullptr : known->second.lock();
}

std::uint64_t node::join(connection& newcomer) {
  connections_.push_back(&newcomer);
  return ++last_number_;
}

void node::leave(connection& leaver) noexcept { std::erase(connections_, &leaver); }

connection* node::find_connection(std::uint64_t number) const noexcept {
  auto const found = std::ranges::find(connections_, number, &connection::number);
  return found == connections_.end() ? nullptr : *found;
}

std::string node::list_of(bool subscribed) const {
  std::string lines;
  for (auto const* const each : connections_) {
    if (each->subscribed() == subscribed) lines += each->info();
  }
  return lines;
}

void node::begin(trouble which, std::string refusal) {
  std::lock_guard const hold{guard_};
  if (over_) return;
  ++troubles_[index(which)];
  if (which == trouble::refusing) refusal_ = std::move(refusal);
  if (which == trouble::unreachable) end_all();
}

void node::end(trouble which) {
  std::lock_guard const hold{guard_};
  if (!over_ && --troubles_[index(which)] == 0) wake_all();
}

resp::reply node::execute(std::initializer_list<std::string_view> words) {
  std::lock_guard const hold{guard_};
  return server_.execute(words, boot_clock::now());
}

std::vector<std::string> node::keys() {
  std::lock_guard const hold{guard_};
  return server_.data(boot_clock::now()).keys();
}

void node::end_all() {
  auto const all = connections_;
  for (auto* const each : all) each->end();
}

void node::wake_all() {
  auto const all = connections_;  // one may leave meanwhile
  for (auto* const each : all) each->go_on();
}

void node::break_connections() {
  std::lock_guard const hold{guard_};
  end_all();
}

void node::start_again() {
  std::lock_guard const hold{guard_};
  end_all();
  server_.start_again(run_id_of(name_, ++starts_));
}

void node::forget_scripts() {
  std::lock_guard const hold{guard_};
  server_.flush_scripts();
}

void node::shut() {
  {
    std::lock_guard const hold{directory_guard()};
    auto& all = all_nodes();
    std::erase_if(all.ended, [](auto const& former) { return former.second.expired(); });
    auto const known = all.nodes.find(name_);
    all.ended.emplace(name_, known->second);
    all.nodes.erase(known);
  }
  std::lock_guard const hold{guard_};
  over_ = true;
  troubles_ = {};
  troubles_[index(trouble::refusing)] = 1;
  refusal_ = "ERR memory://" + name_ + ": this deployment has ended";
  wake_all();
}

}  // namespace holdfast::memory
