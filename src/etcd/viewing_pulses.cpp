// Looks at many locks again and again: what may have changed since the last one.

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "etcd/keys.hpp"
#include "etcd/permit_keys.hpp"
#include "etcd/viewing.hpp"

namespace holdfast::etcd {
namespace {

/// Of the oldest keys of one lock.
viewer::pulse pulse_of(std::string const& folder, found const& of) {
  viewer::pulse felt;
  auto const size = keys::size_of(folder);
  auto text = std::to_string(of.count);
  for (auto const& each : of.keys) {
    text.append(1, ' ').append(each.key).append(1, ' ').append(std::to_string(each.mod_revision));
    if (each.key != size) felt.in_use = true;
    if (felt.lease.empty() && each.lease != 0) felt.lease = keys::digits_of(each.lease);
  }
  felt.state = std::hash<std::string>{}(text);
  return felt;
}

}  // namespace

void viewing::feel(std::vector<std::string> const& names, handler<std::vector<pulse>> done) {
  transaction request;
  std::vector<std::string> folders;
  for (auto const& name : names) {
    auto const& folder = folders.emplace_back(keys::folder(prefix_, name));
    request.then.emplace_back(
        range{.key = folder, .end = keys::end_of(folder), .limit = fewest_keys, .without_values = true});
  }
  server_.transact(std::move(request), {},
                   [this, folders = std::move(folders), done = std::move(done)](response<outcome>&& answer) {
                     std::vector<pulse> all;
                     auto failure = server_.failure_of(answer);
                     for (std::size_t i = 0; !failure && i != folders.size(); ++i)
                       all.push_back(pulse_of(folders[i], answer.value.answers.at(i)));
                     done(std::move(failure), std::move(all));
                   });
}

void viewing::find_times(std::set<std::string> const& of, handler<lease_times> done) {
  if (of.empty()) {
    done(nullptr, {});
    return;
  }
  struct times_under_way {
    lease_times times{};
    std::size_t left = 0;
    handler<lease_times> done{};
  };
  auto const whole = std::make_shared<times_under_way>();
  whole->left = of.size();
  whole->done = std::move(done);
  for (auto const& lease : of) {
    server_.time_to_live(keys::lease_in(lease), {}, [whole, lease](response<lease_time>&& answer) {
      if (answer.ok() && answer.value.left.count() >= 0) whole->times[lease] = answer.value.left;
      if (--whole->left == 0) whole->done(nullptr, std::move(whole->times));
    });
  }
}

}  // namespace holdfast::etcd
