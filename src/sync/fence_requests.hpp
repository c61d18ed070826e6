/// The requests of a fence on Redis, and their replies: docs/fencing.md.
#pragma once

#include "engine/core.hpp"
#include "script/call.hpp"
#include "sync/idempotency_marks.hpp"

#include <holdfast/fence.hpp>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace holdfast::sync {

/// What is written to one resource. Thread-safe.
class fence_requests {
 public:
  struct target {
    std::shared_ptr<engine::core> core;
    std::string resource;
    std::string mark;  ///< the key
    std::int64_t remember_ms;
  };

  explicit fence_requests(target of) : of_{std::move(of)} {}

  [[nodiscard]] engine::core& core() const noexcept { return *of_.core; }
  [[nodiscard]] std::string const& resource() const noexcept { return of_.resource; }
  [[nodiscard]] std::string const& mark() const noexcept { return of_.mark; }

  /// Throw errc::invalid_argument.
  void check(fence_token token) const;
  void check(fence_token token, std::string_view command, std::string_view key,
             std::span<std::string_view const> arguments) const;

  /// A key of its own for each write, by which the server knows copies of the request.
  [[nodiscard]] std::string new_done() const;
  /// A write that leaves the mark `done`.
  [[nodiscard]] call write(fence_token token, std::string_view command, std::string_view key,
                           std::span<std::string_view const> arguments, std::string_view done);
  [[nodiscard]] fence_result written(net::response const& response, std::string_view command,
                                     std::string_view key, std::string done);

  [[nodiscard]] call claim(fence_token token) const;
  [[nodiscard]] fence_result claimed(net::response const& response) const {
    return read(response, "SET", of_.mark);
  }
  /// Of the reply to GET.
  [[nodiscard]] std::int64_t newest(net::response const& response) const;

 private:
  [[noreturn]] void refuse(net::response const& response, std::string_view command,
                           std::string_view key) const;
  [[noreturn]] void refuse_mark() const;
  [[nodiscard]] fence_result read(net::response const& response, std::string_view command,
                                  std::string_view key) const;

  target of_;
  idempotency_marks request_marks_{};
};

}  // namespace holdfast::sync
