#include "sync/barriers_on_etcd.hpp"

#include <utility>

#include "etcd/viewer.hpp"

namespace holdfast::sync::on_etcd {

std::int64_t time_up_at_barrier(engine::core& core, std::string const& seat) {
  return core.requests().ask_viewer<std::int64_t>(
      [&](etcd::viewer& view, etcd::barrier_viewer::handler<std::int64_t> done) {
        view.of_barriers().time_up(seat, std::move(done));
      });
}

}  // namespace holdfast::sync::on_etcd
