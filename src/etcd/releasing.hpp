/// How a lock on etcd is given back.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "engine/lock_backend.hpp"
#include "etcd/leases.hpp"
#include "etcd/mailbox.hpp"
#include "etcd/place.hpp"
#include "etcd/places.hpp"
#include "etcd/server.hpp"
#include "etcd/watching.hpp"

namespace holdfast::etcd {

/// All under the client's lock.
class releasing {
 public:
  template <class Outcome>
  using handler = engine::lock_backend::handler<Outcome>;
  /// `result`: how the key was found. Otherwise there is no answer.
  using released_handler = std::function<void(engine::answer<engine::ownership>&& result, bool had_lock)>;

  releasing(places& of, watching& watches, leases& under, server& to, mailbox& mail) noexcept
      : places_{of}, watching_{watches}, leases_{under}, server_{to}, mail_{mail} {}

  void release(engine::owned lease, handler<engine::ownership> done, scripting::send_options const& send);
  void abandon(engine::owned lease, handler<engine::abandoned> done, scripting::send_options const& send);
  /// Whatever that place has. `done` may be empty.
  void give_back(place_ptr const& left, scripting::send_options const& send, released_handler done);
  /// Nor do copies of its requests stay there. It may not stand there at all.
  void stop_standing_aside(place& left);

 private:
  /// The same for the place of an owner; there may be none.
  void give_back_of(std::string_view owner, scripting::send_options const& send, released_handler done);
  void begin(place_ptr const& left, scripting::send_options const& send, released_handler const& done);
  void remove_each(place_ptr const& left, scripting::send_options const& send,
                   std::function<void(bool some_were_left)> then);

  places& places_;
  watching& watching_;
  leases& leases_;
  server& server_;
  mailbox& mail_;
};

}  // namespace holdfast::etcd
