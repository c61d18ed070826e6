#include "probe/etcd_members.hpp"

#include "engine/access.hpp"
#include "engine/core.hpp"
#include "etcd/viewer.hpp"

#include <utility>

namespace holdfast::probe {

using etcd::viewer;

etcd_members examine_members(client& etcd, std::string const& start) {
  using refusal = std::shared_ptr<error const>;
  using clock = std::chrono::steady_clock;
  auto& requests = engine::access::core_of(etcd)->requests();
  etcd_members found{
      .cluster = requests.ask_viewer<etcd::cluster_view>(
          [](viewer& view, viewer::handler<etcd::cluster_view> done) { view.examine(std::move(done)); })};
  try {
    auto const begun = clock::now();
    found.refusal = requests.ask_viewer<refusal>(
        [&](viewer& view, viewer::handler<refusal> done) { view.try_rights(start, std::move(done)); });
    if (!found.refusal)
      found.took = std::chrono::duration_cast<std::chrono::microseconds>(clock::now() - begun);
  } catch (error const& failure) {
    found.failure = std::make_shared<error const>(failure);
  }
  return found;
}

}  // namespace holdfast::probe
