#include "subjects.hpp"

#include "deployment_under_test.hpp"

#include <stdexcept>
#include <utility>

namespace holdfast::test {
namespace {

template <class Lock>
class lock_of final : public any_lock {
 public:
  lock_of(client& redis, std::string name, lock_options options) : lock_{redis, std::move(name), options} {}
  lease acquire(std::stop_token stop) override { return lock_.acquire(std::move(stop)); }
  std::optional<lease> try_acquire_for(std::chrono::nanoseconds wait, std::stop_token stop) override {
    return lock_.try_acquire_for(wait, std::move(stop));
  }
  void async_acquire(exclusive_lock::acquire_handler done, std::stop_token stop) override {
    lock_.async_acquire(std::move(done), std::move(stop));
  }

 private:
  Lock lock_;
};

/// Several names at once. All are on one server, or in one slot of a cluster, so the lease has one part,
/// which is an ordinary lease.
class several_names final : public any_lock {
 public:
  several_names(client& redis, std::vector<multi_name> const& names, lock_options options)
      : lock_{redis, names, options} {}
  lease acquire(std::stop_token stop) override { return part_of(lock_.acquire(std::move(stop))); }
  std::optional<lease> try_acquire_for(std::chrono::nanoseconds wait, std::stop_token stop) override {
    auto acquired = lock_.try_acquire_for(wait, std::move(stop));
    return acquired ? std::optional{part_of(std::move(*acquired))} : std::nullopt;
  }
  void async_acquire(mutex::acquire_handler done, std::stop_token stop) override {
    lock_.async_acquire(
        [done = std::move(done)](std::optional<multi_lease> acquired, std::exception_ptr failure) mutable {
          done(acquired ? std::optional{part_of(std::move(*acquired))} : std::nullopt, std::move(failure));
        },
        std::move(stop));
  }

 private:
  static lease part_of(multi_lease all) { return std::move(all.parts().front()); }

  multi_mutex lock_;
};

/// The laws check the lock `name`.
std::unique_ptr<any_lock> make_several_names(client& redis, std::string name, lock_options options) {
  std::vector<multi_name> const names{"{" + name + "}:c", name, "{" + name + "}:b"};
  return std::make_unique<several_names>(redis, names, options);
}
std::unique_ptr<any_lock> make_several_kinds(client& redis, std::string name, lock_options options) {
  std::vector<multi_name> const names{permits("{" + name + "}:c", 1, 1), name, read("{" + name + "}:b")};
  return std::make_unique<several_names>(redis, names, options);
}

template <class Lock>
std::unique_ptr<any_lock> make_lock(client& redis, std::string name, lock_options options) {
  return std::make_unique<lock_of<Lock>>(redis, std::move(name), options);
}

/// The readers of a shared_mutex, for workers. They don't exclude each other, so no law of exclusion applies.
class reader_lock final : public any_lock {
 public:
  reader_lock(client& redis, std::string name, lock_options options)
      : lock_{redis, std::move(name), options} {}
  lease acquire(std::stop_token stop) override { return lock_.acquire_shared(std::move(stop)); }
  std::optional<lease> try_acquire_for(std::chrono::nanoseconds wait, std::stop_token stop) override {
    return lock_.try_acquire_shared_for(wait, std::move(stop));
  }
  void async_acquire(exclusive_lock::acquire_handler done, std::stop_token stop) override {
    lock_.async_acquire_shared(std::move(done), std::move(stop));
  }

 private:
  shared_mutex lock_;
};

std::unique_ptr<any_lock> make_reader_lock(client& redis, std::string name, lock_options options) {
  return std::make_unique<reader_lock>(redis, std::move(name), options);
}

/// Makes the same lock with Redisson's wire, with tokens or without.
template <auto Make, bool Fenced = false>
std::unique_ptr<any_lock> on_redisson(client& redis, std::string name, lock_options options) {
  options.wire = wire::redisson;
  options.fenced = Fenced;
  return Make(redis, std::move(name), options);
}

std::vector<subject> const& kinds_of_one_deployment() {
  static std::vector<subject> const all{
      {"mutex_inbox", wake::inbox, make_lock<mutex>},
      {"mutex_poll", wake::poll, make_lock<mutex>},
      {"fair_mutex_inbox", wake::inbox, make_lock<fair_mutex>, handoff::by_server},
      {"fair_mutex_poll", wake::poll, make_lock<fair_mutex>, handoff::by_server},
      {"recursive_mutex_inbox", wake::inbox, make_lock<recursive_mutex>},
      {"recursive_mutex_poll", wake::poll, make_lock<recursive_mutex>},
      {"multi_mutex_inbox", wake::inbox, make_several_names},
      {"multi_mutex_poll", wake::poll, make_several_names},
      {"multi_mutex_of_kinds_inbox", wake::inbox, make_several_kinds, handoff::by_asking},
      {"mutex_redisson", wake::inbox, on_redisson<make_lock<mutex>, true>, handoff::in_process,
       layout::owner_field},
      {"mutex_redisson_poll", wake::poll, on_redisson<make_lock<mutex>>, handoff::in_process,
       layout::owner_field},
      {"fair_mutex_redisson", wake::inbox, on_redisson<make_lock<fair_mutex>>, handoff::by_server,
       layout::owner_field},
      {"recursive_mutex_redisson", wake::inbox, on_redisson<make_lock<recursive_mutex>>, handoff::in_process,
       layout::owner_field},
      {"shared_mutex_inbox", wake::inbox, make_lock<shared_mutex>, handoff::by_server},
      {"shared_mutex_poll", wake::poll, make_lock<shared_mutex>, handoff::by_server},
      {"shared_mutex_redisson", wake::inbox, on_redisson<make_lock<shared_mutex>>, handoff::in_process,
       layout::read_write},
      {"multi_mutex_redisson", wake::inbox, on_redisson<make_several_names>, handoff::in_process,
       layout::owner_field},
  };
  return all;
}

std::vector<subject> const& kinds_of_quorum() {
  static std::vector<subject> const all{
      {"quorum_mutex_inbox", wake::inbox, make_lock<quorum_mutex>},
      {"quorum_mutex_poll", wake::poll, make_lock<quorum_mutex>},
      {"quorum_mutex_redisson", wake::inbox, on_redisson<make_lock<quorum_mutex>>, handoff::in_process,
       layout::owner_field},
  };
  return all;
}

}  // namespace

std::vector<subject> const& subjects() {
  return topology_under_test() == topology::quorum ? kinds_of_quorum() : kinds_of_one_deployment();
}

subject const shared_reader{"shared_mutex_reader", wake::inbox, make_reader_lock};
subject const redisson_reader{"shared_mutex_reader_redisson", wake::inbox, on_redisson<make_reader_lock>};
subject const expiring_permit{"expiring_semaphore", wake::automatic, make_lock<expiring_semaphore>};
subject const redisson_permit{"expiring_semaphore_redisson", wake::automatic,
                              on_redisson<make_lock<expiring_semaphore>>};

subject const& subject_titled(std::string_view title) {
  for (auto const* const kinds : {&kinds_of_one_deployment(), &kinds_of_quorum()}) {
    for (auto const& s : *kinds) {
      if (s.title == title) return s;
    }
  }
  for (auto const* const s : {&shared_reader, &redisson_reader, &expiring_permit, &redisson_permit}) {
    if (s->title == title) return *s;
  }
  throw std::invalid_argument{"no such subject: " + std::string{title}};
}

}  // namespace holdfast::test
