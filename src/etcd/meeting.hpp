/// Barriers on etcd: docs/decisions/0080.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "engine/client_constants.hpp"
#include "engine/lock_backend.hpp"
#include "etcd/barrier_keys.hpp"
#include "etcd/barrier_viewer.hpp"
#include "etcd/channel.hpp"
#include "etcd/leases.hpp"
#include "etcd/mailbox.hpp"
#include "etcd/place.hpp"
#include "etcd/places.hpp"
#include "etcd/server.hpp"
#include "etcd/watching.hpp"

namespace holdfast::etcd {

/// All under the client's lock.
class meeting final : public barrier_viewer {
 public:
  template <class Outcome>
  using handler_of = engine::lock_backend::handler<Outcome>;

  meeting(engine::client_constants const& client, std::string const& prefix, places& all, watching& watches,
          leases& under, server& to, channel& over, mailbox& mail) noexcept
      : client_{client},
        prefix_{prefix},
        places_{all},
        watching_{watches},
        leases_{under},
        server_{to},
        channel_{over},
        mail_{mail} {}

  /// Arrives from that seat, or looks how the generation has ended for which its owner has arrived.
  void arrive(engine::recipe const& lock_recipe, std::string_view seat,
              engine::acquire_request const& request, handler_of<engine::verdict> done,
              scripting::send_options const& send);
  /// Gives an arrival up: a generation that waits for others is broken.
  void leave(engine::owned arrival, engine::departure why, handler_of<engine::abandoned> done,
             scripting::send_options const& send);

  void time_up(std::string const& seat, handler<std::int64_t> done) override;
  void break_by_force(std::string const& name, handler<bool> done) override;

 private:
  /// Of one owner. `text` is that of the generation for which it has arrived, or may have: no later
  /// generation has that again, so a request that comes late is refused.
  struct arrival {
    place_ptr own{};
    std::string seat{};
    std::string folder{};
    std::int64_t parties = 0;

    std::string text{};
    barrier_words words{};
    std::int64_t barrier_lease = 0;
    std::int64_t slot = 0;
    bool unsure = false;   ///< a request that arrives is under way, or has no answer
    bool counted = false;  ///< it was carried out
    bool saw_death = false;
    bool given_up = false;  ///< nothing arrives any more
    time_point extended_at{};
    std::optional<std::int64_t> opened{};  ///< it has ended: the generation; 0: none has opened for it

    [[nodiscard]] std::string trace() const { return keys::here_at(folder, words.generation, slot); }
    [[nodiscard]] bool is_trace(found const& key) const {
      return !key.keys.empty() && key.keys.front().value == own->value;
    }
  };

  using arrival_ptr = std::shared_ptr<arrival>;
  /// A request of the engine's under way.
  struct attempt {
    arrival_ptr of{};
    bool join = false;
    milliseconds ttl{};
    scripting::send_options send{};
    handler_of<engine::verdict> done{};
    time_point sent_at{};
  };
  using attempt_ptr = std::shared_ptr<attempt>;
  using ended = std::function<void(std::shared_ptr<error const>)>;

  void begin(attempt_ptr const& asked);
  void look(attempt_ptr const& asked);
  void on_looked(attempt_ptr const& asked, response<outcome>&& answer);
  void on_newcomer(attempt_ptr const& asked, barrier_reading const& seen, std::int64_t revision);
  void create(attempt_ptr const& asked, std::int64_t revision);
  void put_barrier(attempt_ptr const& asked, std::int64_t lease, std::int64_t revision);
  void resize(attempt_ptr const& asked, barrier_reading const& seen);
  void put_arrival(attempt_ptr const& asked, barrier_reading const& seen);
  /// `had_copies`: an earlier request of that arrival may have been carried out.
  void on_put(attempt_ptr const& asked, response<outcome>&& answer, bool had_copies);
  void on_no_lease(attempt_ptr const& asked);
  void go_on(attempt_ptr const& asked, barrier_reading const& seen, std::int64_t revision);
  void record_opening(attempt_ptr const& asked, barrier_reading const& seen);
  void record_death(attempt_ptr const& asked, barrier_reading const& seen);
  void record_death_of(attempt_ptr const& asked, barrier_reading const& seen, key_value const& slot);
  void look_behind(attempt_ptr const& asked, response<outcome> const& answer);
  /// As that key says behind the end of its generation.
  void conclude(attempt_ptr const& asked, barrier_words const* found);

  void give_up(arrival_ptr const& left, engine::departure why, scripting::send_options const& send,
               ended const& done);
  void on_given_up(arrival& left, outcome&& answer) const;
  void remove_trace(arrival const& of);
  [[nodiscard]] std::string cause(std::string_view why, arrival const& by) const;
  void forget(arrival_ptr const& left);

  void finish_opened(attempt_ptr const& asked);
  void finish_broken(attempt_ptr const& asked, std::string const& cause);
  void finish_waiting(attempt_ptr const& asked);
  template <class Answer>
  void finish_failed(attempt_ptr const& asked, response<Answer> const& answer);
  void finish(attempt_ptr const& asked, engine::answer<engine::verdict>&& result);

  engine::client_constants const& client_;
  std::string const& prefix_;
  places& places_;
  watching& watching_;
  leases& leases_;
  server& server_;
  channel& channel_;
  mailbox& mail_;
  /// By their seats. Of one whose time was up, also when it has ended, until time_up() has asked for it.
  std::map<std::string, arrival_ptr, std::less<>> seats_;
  std::uint64_t extensions_ = 0;
};

}  // namespace holdfast::etcd
