#include "serve/errands.hpp"

#include "common/boot_time.hpp"

#include <holdfast/error.hpp>

#include <cstddef>
#include <exception>
#include <utility>

namespace holdfast::cli {
namespace {

constexpr std::size_t most_orders = 64;
constexpr std::size_t most_answers = 32;

}  // namespace

errands::errands(client& redis)
    : redis_{redis}, thread_{[this](std::stop_token const& stop) { serve(stop); }} {}

void errands::ask(std::string key, std::chrono::milliseconds const fresh, job work, responder respond) {
  {
    std::lock_guard const hold{mutex_};
    if (orders_.size() < most_orders) {
      orders_.push_back({std::move(key), fresh, std::move(work), std::move(respond)});
      changed_.notify_all();
      return;
    }
  }
  respond(refuse(503, "too many ask for this at the same time; ask again"));
}

void errands::forget() {
  std::lock_guard const hold{mutex_};
  answers_.clear();
  ++forgotten_;
}

http_response errands::answer(order const& asked) {
  std::uint64_t forgotten = 0;
  {
    std::lock_guard const hold{mutex_};
    forgotten = forgotten_;
    auto const found = answers_.find(asked.key);
    if (found != answers_.end() && boot_time() - found->second.at <= asked.fresh)
      return {.body = found->second.text};
  }
  try {
    auto response = answer_with(asked.work(redis_));
    std::lock_guard const hold{mutex_};
    if (asked.key.empty() || forgotten_ != forgotten) return response;
    if (answers_.size() >= most_answers) answers_.clear();
    answers_[asked.key] = {boot_time(), response.body};
    return response;
  } catch (error const& problem) {
    return refuse(problem.code() == errc::unauthorized ? 502 : 503, problem.what());
  } catch (std::exception const& problem) {
    return refuse(500, problem.what());
  }
}

std::deque<errands::order> errands::take_alike(std::string const& key) {
  std::deque<order> alike;
  if (key.empty()) return alike;
  std::lock_guard const hold{mutex_};
  std::deque<order> others;
  for (auto& each : orders_) (each.key == key ? alike : others).push_back(std::move(each));
  orders_ = std::move(others);
  return alike;
}

void errands::serve(std::stop_token const& stop) {
  for (;;) {
    order next;
    {
      std::unique_lock hold{mutex_};
      // At the end nobody hears the answers.
      if (!changed_.wait(hold, stop, [this] { return !orders_.empty(); }) || stop.stop_requested()) return;
      next = std::move(orders_.front());
      orders_.pop_front();
    }
    auto const response = answer(next);
    next.respond(response);
    // Those that came meanwhile need not wait for another one: a server that doesn't answer takes seconds.
    for (auto const& each : take_alike(next.key)) each.respond(response);
  }
}

}  // namespace holdfast::cli
