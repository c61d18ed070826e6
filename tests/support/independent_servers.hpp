/// Several masters that know nothing of each other, on loopback: the servers of a quorum.
#pragma once

#include "redis_server.hpp"

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::test {

class independent_servers {
 public:
  /// All have the same options. They listen on TCP, or with TLS, with one authority for all certificates.
  explicit independent_servers(int count = 5, server_options each = {}) {
    if (each.transport == server_transport::unix_socket) each.transport = server_transport::tcp;
    for (auto number = 0; number < count; ++number) {
      nodes_.push_back(redis_server::make(each));
      each.certificates = nodes_.front()->folder();
    }
  }

  /// redis+quorum://…, or rediss+quorum://…, with all of them, or the first `count`.
  [[nodiscard]] std::string url() const { return url_of_first(nodes_.size()); }
  [[nodiscard]] std::string url_of_first(std::size_t count) const {
    std::string hosts;
    for (std::size_t number = 0; number < count; ++number)
      hosts += (hosts.empty() ? "" : ",") + nodes_[number]->address();
    return nodes_.front()->url_of_several("quorum", hosts);
  }

  [[nodiscard]] std::size_t size() const { return nodes_.size(); }
  [[nodiscard]] redis_server& operator[](std::size_t number) { return *nodes_[number]; }
  [[nodiscard]] auto begin() const { return nodes_.begin(); }
  [[nodiscard]] auto end() const { return nodes_.end(); }

 private:
  std::vector<std::unique_ptr<redis_server>> nodes_;
};

}  // namespace holdfast::test
