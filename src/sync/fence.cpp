#include <holdfast/fence.hpp>

#include <functional>
#include <utility>
#include <vector>

#include "base/hash_slot.hpp"
#include "base/ranges.hpp"
#include "base/whole_number.hpp"
#include "engine/access.hpp"
#include "engine/core.hpp"
#include "engine/failure.hpp"
#include "etcd/fence_mark.hpp"
#include "script/names.hpp"
#include "scripts/fence.hpp"
#include "sync/async_answer.hpp"
#include "sync/fences_on_etcd.hpp"
#include "sync/idempotency_marks.hpp"
#include "sync/options_check.hpp"

namespace holdfast {
namespace {

using sync::reading;

/// The number of arguments that Lua can pass to a command is limited.
constexpr std::size_t most_arguments = 4000;

std::string quoted(std::string_view text) { return '"' + std::string{text} + '"'; }

void check_ttl(std::string_view key, std::chrono::milliseconds ttl) {
  sync::check(ttl.count() > 0 && ttl <= ranges::century,
              "the ttl of " + quoted(key) + " must be from 1 ms to " + ranges::in_words(ranges::century) +
                  ", not " + ranges::in_words(ttl));
}

/// Each field, and its value behind it.
std::vector<std::string_view> flattened(std::string_view key, std::span<fence_field const> fields) {
  sync::check(!fields.empty(), "there is nothing to set in the hash " + quoted(key) + ": no field was given");
  std::vector<std::string_view> flat;
  flat.reserve(2 * fields.size());
  for (auto const& [field, value] : fields) {
    flat.push_back(field);
    flat.push_back(value);
  }
  return flat;
}

fence_result result_of(etcd::fence_answer const& answer) noexcept {
  return answer.written ? fence_result::written : fence_result::refused_stale;
}

}  // namespace

std::string_view to_string(fence_result result) noexcept {
  switch (result) {
    case fence_result::written:
      return "written";
    case fence_result::refused_stale:
      return "refused: a newer token has been seen";
    case fence_result::refused_lost:
      return "refused: the lease is over";
  }
  return "unknown";
}

struct fence::impl {
  std::shared_ptr<engine::core> core;
  std::string resource;
  std::string mark;
  std::int64_t remember_ms;
  sync::on_etcd::fence_writer on_etcd;  ///< null on Redis

  sync::idempotency_marks request_marks{};

  void check(fence_token token) const {
    sync::check(token.value() > 0, "a fencing token is greater than 0, but the one for " + quoted(resource) +
                                       " is " + std::to_string(token.value()));
  }
  void check(fence_token token, std::string_view command, std::string_view key,
             std::span<std::string_view const> arguments) const;

  [[noreturn]] void refuse(net::response const& response, std::string_view command,
                           std::string_view key) const;
  [[noreturn]] void refuse_mark() const;
  [[nodiscard]] fence_result read(net::response const& response, std::string_view command,
                                  std::string_view key) const;

  [[nodiscard]] std::string new_mark() const {
    return names::fence_done(resource, core->constants().uuid, sync::next_request_number());
  }
  [[nodiscard]] call write(fence_token token, std::string_view command, std::string_view key,
                           std::span<std::string_view const> arguments, std::string_view done);
  [[nodiscard]] fence_result written(net::response const& response, std::string_view command,
                                     std::string_view key, std::string done);
  [[nodiscard]] call claim(fence_token token) const;
  [[nodiscard]] std::int64_t newest(net::response const& response) const;

  [[nodiscard]] etcd::fence_deed write_on_etcd(fence_token token, std::string_view command,
                                               std::string_view key,
                                               std::span<std::string_view const> arguments) const;
  [[nodiscard]] etcd::fence_deed claim_on_etcd(fence_token token) const;
  [[nodiscard]] etcd::fence_answer carry_out(etcd::fence_deed wanted) const {
    return sync::on_etcd::carry_out(*core, on_etcd, std::move(wanted));
  }
  /// `result_of` makes the result of the answer.
  template <class Result, class Read, class Done>
  void async_carry_out(etcd::fence_deed wanted, Read result_of, Done done) const {
    auto const answer = std::make_shared<etcd::fence_answer>();
    auto const result = [answer, result_of](net::response const& /*response*/) { return result_of(*answer); };
    sync::on_etcd::async_carry_out(*core, on_etcd, std::move(wanted), answer,
                                   reading<Result>(result, std::move(done)));
  }
};

/// Throws the error that corresponds to the server's error reply.
void fence::impl::refuse(net::response const& response, std::string_view command,
                         std::string_view key) const {
  auto const& text = response.reply.text;
  auto const subject = std::string{core->constants().url} + ": " + std::string{command} + " of the key " +
                       quoted(key) + ", fenced by " + quoted(resource) + ", ";
  auto const copies = response.resent
                          ? "; the connection broke, and an earlier copy of the request may have been "
                            "carried out: look before you try again"
                          : "";
  if (response.reply.is_error("WRONGTYPE")) {
    throw error{errc::wrong_type, subject + "was not carried out: the key holds another type (" + text +
                                      "); choose another key, or delete it if nothing needs it" + copies};
  }
  if (engine::about_rights(text)) {
    throw error{response.resent ? errc::unreachable : errc::unauthorized,
                subject + "is not allowed: " + text +
                    "; a fence needs the rights +eval +evalsha and, inside its scripts, +get "
                    "+set +del +" +
                    std::string{command} + "; keys ~" + std::string{key} + " ~" + mark + "*" + copies};
  }
  auto const advice = engine::advice_for(text);
  throw error{response.resent ? errc::unreachable : errc::refused,
              subject + "was refused by the server: " + text + (advice.empty() ? "" : "; ") +
                  std::string{advice} + copies};
}

void fence::impl::refuse_mark() const {
  throw error{errc::wrong_type, core->constants().url + ": the key " + quoted(mark) + " of the fence " +
                                    quoted(resource) +
                                    " holds no token: something else uses it; delete it if nothing needs it, "
                                    "or choose another name for the resource"};
}

fence_result fence::impl::read(net::response const& response, std::string_view command,
                               std::string_view key) const {
  if (response.reply.is_error("BADMARK")) refuse_mark();
  if (response.reply.is_error()) refuse(response, command, key);
  return response.reply.integer == 1 ? fence_result::written : fence_result::refused_stale;
}

void fence::impl::check(fence_token token, std::string_view command, std::string_view key,
                        std::span<std::string_view const> arguments) const {
  check(token);
  sync::check(!command.empty() && !key.empty(),
              "a write fenced by " + quoted(resource) + " needs a command and a key: one is empty");
  sync::check(
      core->constants().slot_of(key) == core->constants().slot_of(mark),
      "the key " + quoted(key) + " and the fence " + quoted(resource) +
          " are in different slots of the cluster, which changes them together only in one: give both "
          "the same tag, as in " +
          quoted("{" + std::string{hash_tag(resource)} + "}" + std::string{key}));
  sync::check(key != mark, quoted(key) + " is the mark of the fence itself: write to another key");
  sync::check(arguments.size() <= most_arguments, "a write fenced by " + quoted(resource) +
                                                      " has at most 4000 arguments, not " +
                                                      std::to_string(arguments.size()));
}

/// The request of a checked write, which leaves the mark `done`.
call fence::impl::write(fence_token token, std::string_view command, std::string_view key,
                        std::span<std::string_view const> arguments, std::string_view done) {
  check(token, command, key, arguments);
  auto const answered = request_marks.take_answered();  // when this fails, they expire after their hour
  scripts::fence::write script{.mark = {mark},
                               .target = {key},
                               .done = {done},
                               .answered = {},
                               .token = token.value(),
                               .remember_ms = remember_ms,
                               .done_ms = sync::idempotency_marks::kept_ms,
                               .command = command,
                               .rest = {}};
  for (auto const& other : answered) script.answered.push_back({other});
  for (auto const argument : arguments) script.rest.emplace_back(argument);
  return script();
}

fence_result fence::impl::written(net::response const& response, std::string_view command,
                                  std::string_view key, std::string done) {
  auto const result = read(response, command, key);
  if (!response.resent) request_marks.add_answered(std::move(done));
  return result;
}

call fence::impl::claim(fence_token token) const {
  check(token);
  return scripts::fence::claim{.mark = {mark}, .token = token.value(), .remember_ms = remember_ms}();
}

std::int64_t fence::impl::newest(net::response const& response) const {
  if (response.reply.is_nil()) return 0;
  if (response.reply.is_error("WRONGTYPE")) refuse_mark();
  if (response.reply.is_error()) refuse(response, "GET", mark);
  auto const token = whole_number(response.reply.text);
  if (!token) refuse_mark();
  return *token;
}

etcd::fence_deed fence::impl::write_on_etcd(fence_token token, std::string_view command, std::string_view key,
                                            std::span<std::string_view const> arguments) const {
  check(token, command, key, arguments);
  auto wanted = sync::on_etcd::deed_of(*core, *on_etcd, command, key, arguments);
  wanted.token = token.value();
  return wanted;
}

etcd::fence_deed fence::impl::claim_on_etcd(fence_token token) const {
  check(token);
  return {.type = etcd::fence_deed::kind::claim, .token = token.value()};
}

fence::fence(client& redis, std::string resource, fence_options options) {
  sync::check(!resource.empty(), "a fence needs the name of a resource: it is empty");
  sync::check(
      resource.size() <= sync::longest_name,
      "the name of a fenced resource has at most 65536 bytes, not " + std::to_string(resource.size()));
  ranges::check(options, ranges::of_fences, [&resource](char const* option) {
    return std::string{option} + " of the fence " + quoted(resource);
  });
  auto core = engine::access::core_of(redis);
  auto const& deployment = core->constants().deployment;
  if (deployment.etcd) {
    auto writer = sync::on_etcd::make_fence_writer(*core, resource, options.remember);
    impl_ = std::make_shared<impl>(std::move(core), resource, etcd::fence_mark_of(resource),
                                   options.remember.count(), std::move(writer));
    return;
  }
  core->constants().check_kind(engine::votes::none);
  if (deployment.slots) sync::check_cluster_name(resource);
  impl_ = std::make_shared<impl>(std::move(core), resource, names::fence_mark(resource),
                                 options.remember.count(), nullptr);
}

fence::~fence() = default;
fence::fence(fence&&) noexcept = default;
fence& fence::operator=(fence&&) noexcept = default;

std::string const& fence::resource() const noexcept { return impl_->resource; }

fence_result fence::write(fence_token token, std::string_view command, std::string_view key,
                          std::span<std::string_view const> arguments) {
  if (token.lost()) return fence_result::refused_lost;
  if (impl_->on_etcd)
    return result_of(impl_->carry_out(impl_->write_on_etcd(token, command, key, arguments)));
  auto done = impl_->new_mark();
  auto const response =
      impl_->core->requests().ask_until_ready(impl_->write(token, command, key, arguments, done));
  return impl_->written(response, command, key, std::move(done));
}

fence_result fence::claim(fence_token token) {
  if (token.lost()) return fence_result::refused_lost;
  if (impl_->on_etcd) return result_of(impl_->carry_out(impl_->claim_on_etcd(token)));
  return impl_->read(impl_->core->requests().ask_until_ready(impl_->claim(token)), "SET", impl_->mark);
}

std::int64_t fence::newest() {
  if (impl_->on_etcd) return impl_->carry_out({}).newest;
  std::string_view const command[]{"GET", impl_->mark};
  return impl_->newest({.reply = impl_->core->requests().ask(command, impl_->mark)});
}

fence_result fence::set(std::string_view key, std::string_view value, fence_token token) {
  return write(token, "SET", key, value);
}

fence_result fence::set(std::string_view key, std::string_view value, fence_token token,
                        std::chrono::milliseconds ttl) {
  check_ttl(key, ttl);
  return write(token, "SET", key, value, "PX", std::to_string(ttl.count()));
}

fence_result fence::hash_set(std::string_view key, std::string_view field, std::string_view value,
                             fence_token token) {
  return write(token, "HSET", key, field, value);
}

fence_result fence::hash_set(std::string_view key, std::span<fence_field const> fields, fence_token token) {
  return write(token, "HSET", key, std::span<std::string_view const>{flattened(key, fields)});
}

fence_result fence::append(std::string_view key, std::string_view text, fence_token token) {
  return write(token, "APPEND", key, text);
}

fence_result fence::increment(std::string_view key, std::int64_t by, fence_token token) {
  return write(token, "INCRBY", key, std::to_string(by));
}

fence_result fence::erase(std::string_view key, fence_token token) { return write(token, "DEL", key); }

void fence::async_write(fence_token token, std::string_view command, std::string_view key,
                        std::span<std::string_view const> arguments, write_handler done) {
  sync::check_handler(done, impl_->resource);
  if (token.lost()) {
    done(fence_result::refused_lost, nullptr);
    return;
  }
  if (impl_->on_etcd) {
    impl_->async_carry_out<fence_result>(impl_->write_on_etcd(token, command, key, arguments), result_of,
                                         std::move(done));
    return;
  }
  auto mark = impl_->new_mark();
  auto script = impl_->write(token, command, key, arguments, mark);
  auto read = [state = impl_, command = std::string{command}, key = std::string{key},
               mark = std::move(mark)](net::response const& response) mutable {
    return state->written(response, command, key, std::move(mark));
  };
  impl_->core->async_server_calls().ask_until_ready(std::move(script),
                                                    reading<fence_result>(std::move(read), std::move(done)));
}

void fence::async_claim(fence_token token, write_handler done) {
  sync::check_handler(done, impl_->resource);
  if (token.lost()) {
    done(fence_result::refused_lost, nullptr);
    return;
  }
  if (impl_->on_etcd) {
    impl_->async_carry_out<fence_result>(impl_->claim_on_etcd(token), result_of, std::move(done));
    return;
  }
  auto read = [state = impl_](net::response const& response) {
    return state->read(response, "SET", state->mark);
  };
  impl_->core->async_server_calls().ask_until_ready(impl_->claim(token),
                                                    reading<fence_result>(std::move(read), std::move(done)));
}

void fence::async_newest(token_handler done) {
  sync::check_handler(done, impl_->resource);
  if (impl_->on_etcd) {
    impl_->async_carry_out<std::int64_t>({}, std::mem_fn(&etcd::fence_answer::newest), std::move(done));
    return;
  }
  std::string_view const command[]{"GET", impl_->mark};
  auto read = [state = impl_](net::response const& response) { return state->newest(response); };
  impl_->core->async_server_calls().ask_until_ready(command, impl_->mark,
                                                    reading<std::int64_t>(std::move(read), std::move(done)));
}

void fence::async_set(std::string_view key, std::string_view value, fence_token token, write_handler done) {
  async_write(token, "SET", key, {{value}}, std::move(done));
}

void fence::async_set(std::string_view key, std::string_view value, fence_token token,
                      std::chrono::milliseconds ttl, write_handler done) {
  check_ttl(key, ttl);
  auto const ttl_ms = std::to_string(ttl.count());
  async_write(token, "SET", key, {{value, "PX", ttl_ms}}, std::move(done));
}

void fence::async_hash_set(std::string_view key, std::string_view field, std::string_view value,
                           fence_token token, write_handler done) {
  async_write(token, "HSET", key, {{field, value}}, std::move(done));
}

void fence::async_hash_set(std::string_view key, std::span<fence_field const> fields, fence_token token,
                           write_handler done) {
  async_write(token, "HSET", key, flattened(key, fields), std::move(done));
}

void fence::async_append(std::string_view key, std::string_view text, fence_token token, write_handler done) {
  async_write(token, "APPEND", key, {{text}}, std::move(done));
}

void fence::async_increment(std::string_view key, std::int64_t by, fence_token token, write_handler done) {
  auto const number = std::to_string(by);
  async_write(token, "INCRBY", key, {{number}}, std::move(done));
}

void fence::async_erase(std::string_view key, fence_token token, write_handler done) {
  async_write(token, "DEL", key, {}, std::move(done));
}

}  // namespace holdfast
