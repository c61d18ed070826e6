/// Handlers of responses for callers that don't wait.
#pragma once

#include <exception>
#include <holdfast/error.hpp>
#include <optional>
#include <utility>

#include "engine/async_server_calls.hpp"

namespace holdfast::sync {

/// Calls `done` with what `read` makes of the response, or with what it throws. No response: with the reason.
template <class Result, class Read, class Done>
engine::async_server_calls::handler reading(Read read, Done done) {
  return [read = std::move(read), done = std::move(done)](net::response&& response) mutable {
    std::optional<Result> result;
    std::exception_ptr reason;
    try {
      if (response.failure) throw error{*response.failure};
      result = read(response);
    } catch (std::exception const&) {
      reason = std::current_exception();
    }
    done(std::move(result), std::move(reason));
  };
}

}  // namespace holdfast::sync
