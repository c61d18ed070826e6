/// Latches on etcd, outside of the engine. All throw when etcd can't be asked, and errc::wrong_type when the
/// name is something else.
#pragma once

#include <chrono>
#include <cstdint>
#include <exception>
#include <holdfast/move_only_function.hpp>
#include <memory>
#include <string>

#include "engine/core.hpp"

namespace holdfast::sync::on_etcd {

/// Throws errc::expired, as count_latch_down() does.
[[nodiscard]] std::int64_t count_of_latch(engine::core& core, std::string const& name);
/// False: it is closed already.
bool set_latch(engine::core& core, std::string const& name, std::int64_t number,
               std::chrono::milliseconds expires_after);

struct latch_counting {
  std::string participant{};
  bool named = false;
  std::int64_t number = 1;
};
/// False: that participant has counted already, or the latch is open.
bool count_latch_down(engine::core& core, std::string const& name, latch_counting const& by);
void async_count_latch_down(std::shared_ptr<engine::core> const& core, std::string const& name,
                            latch_counting const& by,
                            move_only_function<void(bool, std::exception_ptr)> done);
/// False: it was open.
bool open_latch(engine::core& core, std::string const& name);

}  // namespace holdfast::sync::on_etcd
