/// Checked writes on etcd: docs/decisions/0079.
#pragma once

#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include "engine/client_constants.hpp"
#include "etcd/channel.hpp"
#include "etcd/fence_viewer.hpp"
#include "etcd/server.hpp"

namespace holdfast::etcd {

/// Each write is a transaction that demands the mark as it was last changed, and changes it. So of all its
/// copies one is carried out at most, and the mark says so.
class fencing final : public fence_viewer {
 public:
  fencing(engine::client_constants const& client, std::string const& prefix, server& to,
          channel& over) noexcept
      : client_{client}, prefix_{prefix}, server_{to}, channel_{over} {}

  void carry_out(std::shared_ptr<fence_writer> const& by, fence_deed wanted, handler done) override;

 private:
  using writer_ptr = std::shared_ptr<fence_writer>;
  using job_ptr = std::shared_ptr<fence_writer::job>;

  void begin(writer_ptr const& by);
  [[nodiscard]] std::vector<operation> what_to_read(fence_writer const& by) const;
  void look(writer_ptr const& by);
  void on_seen(writer_ptr const& by, std::vector<found>& answers);
  /// Each goes on with the next one.
  void find_lease_of_mark(writer_ptr const& by);
  void find_lease_of_key(writer_ptr const& by);
  void write(writer_ptr const& by);
  void grant_lease_of_mark(writer_ptr const& by);
  void on_written(writer_ptr const& by, fence_mark next, response<outcome>&& answer);

  template <class Answer>
  [[nodiscard]] bool fails(writer_ptr const& by, response<Answer> const& answer);
  void fail(writer_ptr const& by, std::error_code code, std::string const& text);
  void fail_late(writer_ptr const& by);
  [[nodiscard]] time_point limit_of(fence_writer::job const& asked) const noexcept;
  void revoke(std::int64_t lease);
  void end(writer_ptr const& by, std::shared_ptr<error const> failure, bool written);

  engine::client_constants const& client_;
  std::string const& prefix_;
  server& server_;
  channel& channel_;
};

}  // namespace holdfast::etcd
