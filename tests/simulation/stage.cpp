#include "simulation/stage.hpp"

#include <algorithm>
#include <optional>

#include "script/names.hpp"

namespace holdfast::simulation {

using namespace std::chrono_literals;

namespace {

/// Of a lock 30 s at the most, of a queue a minute.
constexpr auto longest_ttl = 61s;

}  // namespace

stage::stage(std::uint64_t seed, network conditions, int masters)
    : world_{seed}, given_{std::move(conditions)}, network_{given_} {
  for (auto i = 0; i < masters; ++i)
    servers_.push_back(std::make_unique<server>(world_, "m" + std::to_string(i)));
  network_.fate_of = [this] {
    ++requests_;
    return calm_ || !given_.fate_of ? fate::answered : given_.fate_of();
  };
  network_.delay_of_message = [this]() -> std::optional<nanoseconds> {
    ++messages_;
    return calm_ || !given_.delay_of_message ? nanoseconds{0} : given_.delay_of_message();
  };
  if (!given_.fate_of) judge_.expect_answers();
  world_.on_step([this] { judge_.check(); });
}

stage::~stage() {
  calm();
  for (auto const& process : processes_) process->end();  // lets events happen, also those of actors
  actors_.clear();
  keepers_.clear();
}

process& stage::add_process(client_options options) {
  options.observer = books_.emplace_back(std::make_shared<test::event_book>());
  processes_.push_back(std::make_unique<process>(world_, servers_, network_, std::move(options)));
  return *processes_.back();
}

actor& stage::add_actor(process& host, habits behaviour) {
  for (auto const& name : behaviour.wanted.names) {
    auto const& lock = behaviour.wanted.of(name);
    if (lock.permits == 0 || lock.weighted) continue;  // a request says how many there are of the latter
    (void)servers_.front()->execute({"SET", name, std::to_string(lock.permits)});
  }
  actors_.push_back(std::make_unique<actor>(world_, judge_, host, std::move(behaviour)));
  return *actors_.back();
}

void stage::add_keeper(process& host, habits behaviour) {
  keepers_.push_back(std::make_unique<latch_keeper>(world_, *servers_.front(), judge_, host, behaviour));
}

void stage::exit(process& host, std::function<void()> over) {
  host.when_undisturbed([this, &host, over = std::move(over)] {
    host.exit();
    for (auto const& actor : actors_) actor->bury();
    for (auto const& keeper : keepers_) keeper->bury();
    over();
  });
}

int stage::leases() const noexcept {
  auto count = 0;
  for (auto const& actor : actors_) count += actor->leases();
  return count;
}

void stage::outwait_ttls() {
  world_.after(longest_ttl, [] {});
  (void)world_.run(longest_ttl, [] { return false; });
}

void stage::check_events() {
  for (std::size_t i = 0; i != processes_.size(); ++i) {
    auto const& book = *books_[i];
    for (auto const& problem : book.wrong()) judge_.fail("the observer heard " + problem);
    if (book.missed() != 0) judge_.fail("the observer missed events");
    if (book.held() != 0) judge_.fail("the observer hears of no end of a lease");
    // exit() leaves callers of other threads waiting.
    if (book.waiting() != 0 && !processes_[i]->exiting())
      judge_.fail("the observer hears of no end of a wait");
  }
}

std::vector<std::string> stage::play() {
  for (auto const& actor : actors_) actor->begin();
  for (auto const& keeper : keepers_) keeper->begin(keepers_.size() == 1);
  auto const all_done = [this] {
    auto const done = [](auto const& each) { return each->done(); };
    return std::ranges::all_of(actors_, done) && std::ranges::all_of(keepers_, done);
  };
  if (!world_.run(600s, all_done)) judge_.fail("some callers are never done");
  calm();
  (void)world_.run(5s, [] { return false; });
  for (auto const& process : processes_) process->end();
  judge_.check_end();
  check_events();
  for (auto const& each : servers_) {
    if (each->left_behind()) outwait_ttls();
    judge_.check_left_behind(*each);
  }
  return judge_.failures();
}

}  // namespace holdfast::simulation
