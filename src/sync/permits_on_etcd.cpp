#include "sync/permits_on_etcd.hpp"

#include <algorithm>
#include <utility>

#include "etcd/viewer.hpp"

namespace holdfast::sync::on_etcd {

using etcd::viewer;

permit_counts count_permits(engine::core& core, std::string const& name, std::int64_t offered) {
  auto const found = core.requests().ask_viewer<viewer::permit_counts>(
      [&](viewer& view, viewer::handler<viewer::permit_counts> done) {
        view.count_permits(name, std::move(done));
      });
  auto const size = found.size < 0 ? offered : found.size;
  return {.available = size - found.out, .total = size, .acquired = found.out};
}

bool resize_permits(engine::core& core, std::string const& name, std::string_view mode, std::int64_t number,
                    std::int64_t offered) {
  using enum viewer::resizing;
  auto const how = mode == "try" ? set_first : mode == "add" ? add : set;
  return core.requests().ask_viewer<bool>([&](viewer& view, viewer::handler<bool> done) {
    view.resize_permits(name, how, number, offered, std::move(done));
  });
}

bool give_back_permits(engine::core& core, std::string const& name, std::string_view owner) {
  return core.requests().ask_viewer<bool>([&](viewer& view, viewer::handler<bool> done) {
    view.give_back_permits(name, std::string{owner}, std::move(done));
  });
}

}  // namespace holdfast::sync::on_etcd
