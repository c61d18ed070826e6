#include "etcd/places.hpp"

#include <chrono>
#include <utility>

#include "etcd/keys.hpp"

namespace holdfast::etcd {

place_ptr places::find(std::string_view owner) const {
  auto const known = all_.find(owner);
  return known == all_.end() ? nullptr : known->second;
}

place_ptr places::find_or_add(engine::recipe const& lock_recipe, std::string_view name,
                              engine::acquire_request const& request) {
  auto& known = all_[std::string{request.owner}];
  if (known == nullptr) {
    known = std::make_shared<place>();
    known->owner = request.owner;
    for (auto const each : lock_recipe.all_names(name)) known->names.emplace_back(each);
    known->called = lock_recipe.channels == nullptr ? lock_recipe.first_name(name) : name;
    known->reads = lock_recipe.sharing == engine::sharing::shared;
    known->of_latch = lock_recipe.sharing == engine::sharing::open_to_all;
    known->amount = lock_recipe.sharing == engine::sharing::counted ? request.amount : 0;
    known->claims = known->names;
    // A lock has no slash in its name.
    if (known->reads || known->amount != 0) known->claims = {known->name() + '/' + known->owner};
    known->value =
        request.value ? std::string{*request.value} : keys::value(request.owner, client_.options.label);
  }
  known->offered = request.size;
  return known;
}

void places::take_lease(place_ptr const& of, milliseconds ttl, scripting::send_options const& send,
                        client_lease::handler done) {
  if (!of->lease) of->lease = leases_.take(of->claims, std::chrono::ceil<std::chrono::seconds>(ttl));
  leases_.when_granted(of->lease, send,
                       [this, of, done = std::move(done)](response<lease_grant> const* failure) {
                         if (failure != nullptr) give_lease(*of);
                         done(failure);
                       });
}

void places::give_lease(place& of) noexcept {
  if (of.lease) leases_.give(*of.lease, of.claims, boot_clock::now());
  of.lease.reset();
}

void places::name_keys(place& granted) const {
  if (granted.amount != 0) return;  // its name says how many there are
  granted.keys.clear();
  for (auto const& each : granted.names) {
    auto const folder = keys::folder(prefix_, each);
    granted.keys.push_back(granted.reads ? keys::reading_place(folder, granted.lease->id, granted.owner)
                                         : keys::place(folder, granted.lease->id));
  }
}

void places::drop(place_ptr const& left) noexcept {
  left->watching.disarm();
  left->end.disarm();
  watching_.unwatch(*left);
  give_lease(*left);
  left->keys.clear();
  left->aside.clear();
  left->asides_in_doubt.clear();
  left->revision = 0;
  left->seen = 0;
  left->holds = false;
  left->unsure = false;
  left->of_latch = false;
  if (left->has_more_steps()) return;
  if (auto const known = all_.find(left->owner); known != all_.end() && known->second == left)
    all_.erase(known);
}

void places::leave_behind(place& left) {
  if (!left.lease || left.lease->over) return;
  for (auto const& each : left.keys) leases::leave_behind(*left.lease, each);
  if (!left.aside.empty()) leases::leave_behind(*left.lease, left.aside);
  leave_doubtful_asides(left);
}

void places::leave_doubtful_asides(place& left) {
  if (left.lease && !left.lease->over) {
    for (auto const& each : left.asides_in_doubt) leases::leave_behind(*left.lease, each);
  }
  left.asides_in_doubt.clear();
}

void places::on_lease_over(lease_ptr const& gone) {
  auto const all = all_;
  for (auto const& [owner, each] : all) {
    if (each->lease != gone) continue;
    watching_.unwatch(*each);
    if (!each->holds) listeners_.wake(*each);
  }
}

void places::stop() noexcept {
  for (auto const& [owner, each] : all_) {
    each->watching.disarm();
    each->end.disarm();
  }
}

}  // namespace holdfast::etcd
