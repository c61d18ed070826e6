/// The answers of `holdfast serve`, by path. docs/serve.md and page/openapi.json describe them.
#pragma once

#include "serve/access.hpp"
#include "serve/deployment.hpp"
#include "serve/feed.hpp"
#include "serve/http_server.hpp"
#include "serve/metrics.hpp"

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast::cli {

struct serve_rules {
  bool allow_release = false;
  long_hold_rules long_hold{};
};

/// Called in the thread of the server; answers come from threads of deployments, too.
class serve_routes {
 public:
  /// `urls`: of the deployments, in their order, with their passwords.
  serve_routes(std::vector<std::unique_ptr<deployment>> const& deployments, std::vector<std::string> urls,
               access_control access, event_feed const& feed, serve_rules rules);

  void answer(http_request const& request, responder const& respond);
  /// For its metrics, and its streams.
  void watch(http_server& server) noexcept { server_ = &server; }

 private:
  void answer_visitor(http_request const& request, visitor const& by, responder const& respond);
  void answer_api(http_request const& request, visitor const& by, responder const& respond);
  void answer_lock(http_request const& request, std::string_view path, visitor const& by,
                   responder const& respond);
  void post(http_request const& request, visitor const& by, responder const& respond);
  void release(http_request const& request, std::string_view id, visitor const& by, responder const& respond);
  void examine(std::size_t number, std::chrono::milliseconds fresh, responder respond);
  [[nodiscard]] http_response log_in(http_request const& request);
  [[nodiscard]] http_response events(http_request const& request);
  [[nodiscard]] http_response list(http_request const& request);
  [[nodiscard]] http_response metrics();
  [[nodiscard]] http_response readiness() const;
  [[nodiscard]] std::string deployments_json() const;
  /// By the parameter `deployment`, without which it is the first; nullptr: there is none.
  [[nodiscard]] deployment* chosen(http_request const& request) const;

  std::vector<std::unique_ptr<deployment>> const& deployments_;
  std::vector<std::string> const urls_;
  access_control access_;
  event_feed const& feed_;
  serve_rules const rules_;
  http_server* server_ = nullptr;
  std::map<std::string, std::pair<std::chrono::nanoseconds, shared_text>>
      lists_{};         ///< by query; many pages ask alike
  std::mutex mutex_{};  ///< guards what follows
  std::map<std::string, fitness> fitness_{};
  std::chrono::nanoseconds examined_{};  ///< when metrics have last asked for that
};

}  // namespace holdfast::cli
