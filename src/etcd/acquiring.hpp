/// How a lock on etcd is acquired.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "engine/client_constants.hpp"
#include "engine/lock_backend.hpp"
#include "etcd/holding.hpp"
#include "etcd/leases.hpp"
#include "etcd/permit_position.hpp"
#include "etcd/place.hpp"
#include "etcd/places.hpp"
#include "etcd/queue_position.hpp"
#include "etcd/releasing.hpp"
#include "etcd/server.hpp"
#include "etcd/watching.hpp"

namespace holdfast::etcd {

/// All under the client's lock.
class acquiring {
 public:
  using handler = engine::lock_backend::handler<engine::verdict>;

  /// An acquire request under way.
  struct attempt {
    place_ptr own{};
    milliseconds ttl{};
    bool join = false;           ///< its caller waits, and is to be told when to ask again
    bool aside = false;          ///< for now without keys, of several names: see stepping_aside
    time_point look_again_at{};  ///< of several names: when that changes
    scripting::send_options send{};
    handler done{};
    int beginnings = 0;
    bool by_place = false;  ///< it makes its place in any case, and leaves it if it would have to wait

    /// It makes its keys though it doesn't get the lock by that.
    [[nodiscard]] bool queues() const noexcept { return (join && !aside) || by_place; }
  };
  using attempt_ptr = std::shared_ptr<attempt>;

  acquiring(engine::client_constants const& client, std::string const& prefix, places& all, watching& watches,
            leases& under, releasing& ends, holding& holds, server& to) noexcept
      : client_{client},
        prefix_{prefix},
        places_{all},
        watching_{watches},
        leases_{under},
        releasing_{ends},
        holding_{holds},
        server_{to} {}

  void acquire(engine::recipe const& lock_recipe, std::string_view name,
               engine::acquire_request const& request, handler done, scripting::send_options const& send);

  /// Its keys were made by another request: where are they in the queue?
  void look(attempt_ptr const& asked);
  void on_position(attempt_ptr const& asked, queue_position const& position, std::int64_t revision);

 private:
  /// How often one request begins anew, because the lease has ended meanwhile, somebody has deleted the key,
  /// or others were faster.
  static constexpr int most_beginnings = 5;

  void begin(attempt_ptr const& asked);
  void begin_anew(attempt_ptr const& asked);
  void make_keys(attempt_ptr const& asked);
  void on_made(attempt_ptr const& asked, response<outcome>&& answer);
  /// False: it wasn't carried out, and what follows is under way.
  [[nodiscard]] bool was_carried_out(attempt_ptr const& asked, response<outcome> const& answer);
  void remove_stale(attempt_ptr const& asked, std::span<key_value const> stale);
  /// If all are as they were made, and goes on.
  void remove_own(attempt_ptr const& asked, std::function<void()> then);
  void give_up_keys(place& own);
  void carry_out(attempt_ptr const& asked, transaction request, std::function<void()> then);
  void on_looked(attempt_ptr const& asked, response<outcome>&& answer);

  // Of those that make no keys for now, as there are others: acquiring_aside.cpp.
  struct last_place {
    std::string key{};
    std::int64_t revision = 0;  ///< of the store, in which it was the last one
  };
  void ask_aside(transaction& request, place const& own) const;
  void on_others(attempt_ptr const& asked, outcome&& answer);
  void stand_aside(attempt_ptr const& asked, std::string const& aside, last_place const& last,
                   engine::busy&& reply);
  void watch_aside(place_ptr const& own, found const& queue, last_place const& last, std::int64_t revision);

  // The same of permits: acquiring_permits.cpp.
  struct permit_terms;
  void make_permit(attempt_ptr const& asked);
  void put_permit(attempt_ptr const& asked, permit_terms const& terms);
  void on_permit_made(attempt_ptr const& asked, response<outcome>&& answer);
  void survey_permits(attempt_ptr const& asked);
  void on_surveyed(attempt_ptr const& asked, response<outcome>&& answer);
  void on_permit_position(attempt_ptr const& asked, permit_position const& position, std::int64_t revision);
  void wait_without_place(attempt_ptr const& asked, engine::busy const& reply, std::int64_t revision);
  void remember_size(std::string const& name, std::string const& text);

  [[nodiscard]] std::string why_no_place(std::string const& name, key_value const& before) const;
  [[nodiscard]] engine::busy busy_behind(place const& waiter, found const& first) const;
  /// With errc::wrong_type.
  void fail(attempt_ptr const& asked, std::string const& reason);
  void finish_granted(attempt_ptr const& asked);
  void finish_busy(attempt_ptr const& asked, engine::busy&& reply);
  template <class Answer>
  void finish_failed(attempt_ptr const& asked, response<Answer> const& answer);
  void finish(attempt_ptr const& asked, engine::answer<engine::verdict>&& result);

  engine::client_constants const& client_;
  std::string const& prefix_;
  places& places_;
  watching& watching_;
  leases& leases_;
  releasing& releasing_;
  holding& holding_;
  server& server_;
  /// By the names of semaphores: the key that said how many permits there are. It may be another one by now.
  std::map<std::string, std::string, std::less<>> sizes_{};
};

}  // namespace holdfast::etcd
