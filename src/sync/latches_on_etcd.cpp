#include "sync/latches_on_etcd.hpp"

#include <utility>

#include "etcd/viewer.hpp"
#include "sync/async_answer.hpp"

namespace holdfast::sync::on_etcd {
namespace {

using etcd::latch_viewer;

/// `send` gets the latches, and a handler for the answer.
template <class Answer, class Send>
Answer ask(engine::core& core, Send send) {
  return core.requests().ask_viewer<Answer>([&](etcd::viewer& view, latch_viewer::handler<Answer> done) {
    send(view.of_latches(), std::move(done));
  });
}

latch_viewer::counting of(latch_counting const& by) {
  return {.participant = by.participant, .named = by.named, .number = by.number};
}

}  // namespace

std::int64_t count_of_latch(engine::core& core, std::string const& name) {
  return ask<std::int64_t>(core, [&](latch_viewer& latches, latch_viewer::handler<std::int64_t> done) {
    latches.count(name, std::move(done));
  });
}

bool set_latch(engine::core& core, std::string const& name, std::int64_t number,
               std::chrono::milliseconds expires_after) {
  return ask<bool>(core, [&](latch_viewer& latches, latch_viewer::handler<bool> done) {
    latches.set(name, number, expires_after, std::move(done));
  });
}

bool count_latch_down(engine::core& core, std::string const& name, latch_counting const& by) {
  return ask<bool>(core, [&](latch_viewer& latches, latch_viewer::handler<bool> done) {
    latches.count_down(name, of(by), std::move(done));
  });
}

void async_count_latch_down(std::shared_ptr<engine::core> const& core, std::string const& name,
                            latch_counting const& by,
                            move_only_function<void(bool, std::exception_ptr)> done) {
  auto const counted = std::make_shared<bool>(false);
  core->async_server_calls().ask_viewer(
      counted,
      [name, by](etcd::viewer& view, latch_viewer::handler<bool> answered) {
        view.of_latches().count_down(name, of(by), std::move(answered));
      },
      reading<bool>(
          [counted](net::response const& /*answer*/) { return *counted; },
          [done = std::move(done)](std::optional<bool> changed, std::exception_ptr failure) mutable {
            done(changed.value_or(false), std::move(failure));
          }));
}

bool open_latch(engine::core& core, std::string const& name) {
  return ask<bool>(core, [&](latch_viewer& latches, latch_viewer::handler<bool> done) {
    latches.open(name, std::move(done));
  });
}

}  // namespace holdfast::sync::on_etcd
