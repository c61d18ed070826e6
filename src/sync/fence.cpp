#include <holdfast/fence.hpp>

#include <functional>
#include <utility>
#include <vector>

#include "base/quoted.hpp"
#include "base/ranges.hpp"
#include "engine/access.hpp"
#include "engine/core.hpp"
#include "etcd/fence_mark.hpp"
#include "script/names.hpp"
#include "sync/async_answer.hpp"
#include "sync/fence_requests.hpp"
#include "sync/fences_on_etcd.hpp"
#include "sync/options_check.hpp"

namespace holdfast {
namespace {

using sync::reading;

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
  impl(sync::fence_requests::target target, sync::on_etcd::fence_writer writer)
      : requests{std::move(target)}, on_etcd{std::move(writer)} {}

  sync::fence_requests requests;
  sync::on_etcd::fence_writer on_etcd;  ///< null on Redis

  [[nodiscard]] engine::core& core() const noexcept { return requests.core(); }

  [[nodiscard]] etcd::fence_deed write_on_etcd(fence_token token, std::string_view command,
                                               std::string_view key,
                                               std::span<std::string_view const> arguments) const;
  [[nodiscard]] etcd::fence_deed claim_on_etcd(fence_token token) const;
  [[nodiscard]] etcd::fence_answer carry_out(etcd::fence_deed wanted) const {
    return sync::on_etcd::carry_out(core(), on_etcd, std::move(wanted));
  }
  /// `result_of` makes the result of the answer.
  template <class Result, class Read, class Done>
  void async_carry_out(etcd::fence_deed wanted, Read result_of, Done done) const {
    auto const answer = std::make_shared<etcd::fence_answer>();
    auto const result = [answer, result_of](net::response const& /*response*/) { return result_of(*answer); };
    sync::on_etcd::async_carry_out(core(), on_etcd, std::move(wanted), answer,
                                   reading<Result>(result, std::move(done)));
  }
};

etcd::fence_deed fence::impl::write_on_etcd(fence_token token, std::string_view command, std::string_view key,
                                            std::span<std::string_view const> arguments) const {
  requests.check(token, command, key, arguments);
  auto wanted = sync::on_etcd::deed_of(core(), *on_etcd, command, key, arguments);
  wanted.token = token.value();
  return wanted;
}

etcd::fence_deed fence::impl::claim_on_etcd(fence_token token) const {
  requests.check(token);
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
    impl_ = std::make_shared<impl>(sync::fence_requests::target{.core = std::move(core),
                                                                .resource = resource,
                                                                .mark = etcd::fence_mark_of(resource),
                                                                .remember_ms = options.remember.count()},
                                   std::move(writer));
    return;
  }
  core->constants().check_kind(engine::deciders::one);
  if (deployment.slots) sync::check_cluster_name(resource);
  impl_ = std::make_shared<impl>(sync::fence_requests::target{.core = std::move(core),
                                                              .resource = resource,
                                                              .mark = names::fence_mark(resource),
                                                              .remember_ms = options.remember.count()},
                                 nullptr);
}

fence::~fence() = default;
fence::fence(fence&&) noexcept = default;
fence& fence::operator=(fence&&) noexcept = default;

std::string const& fence::resource() const noexcept { return impl_->requests.resource(); }

fence_result fence::write(fence_token token, std::string_view command, std::string_view key,
                          std::span<std::string_view const> arguments) {
  if (token.lost()) return fence_result::refused_lost;
  if (impl_->on_etcd)
    return result_of(impl_->carry_out(impl_->write_on_etcd(token, command, key, arguments)));
  auto& requests = impl_->requests;
  auto done = requests.new_done();
  auto const response =
      impl_->core().requests().ask_until_ready(requests.write(token, command, key, arguments, done));
  return requests.written(response, command, key, std::move(done));
}

fence_result fence::claim(fence_token token) {
  if (token.lost()) return fence_result::refused_lost;
  if (impl_->on_etcd) return result_of(impl_->carry_out(impl_->claim_on_etcd(token)));
  auto const& requests = impl_->requests;
  return requests.claimed(impl_->core().requests().ask_until_ready(requests.claim(token)));
}

std::int64_t fence::newest() {
  if (impl_->on_etcd) return impl_->carry_out({}).newest;
  auto const& mark = impl_->requests.mark();
  std::string_view const command[]{"GET", mark};
  return impl_->requests.newest({.reply = impl_->core().requests().ask(command, mark)});
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
  sync::check_handler(done, impl_->requests.resource());
  if (token.lost()) {
    done(fence_result::refused_lost, nullptr);
    return;
  }
  if (impl_->on_etcd) {
    impl_->async_carry_out<fence_result>(impl_->write_on_etcd(token, command, key, arguments), result_of,
                                         std::move(done));
    return;
  }
  auto mark = impl_->requests.new_done();
  auto script = impl_->requests.write(token, command, key, arguments, mark);
  auto read = [state = impl_, command = std::string{command}, key = std::string{key},
               mark = std::move(mark)](net::response const& response) mutable {
    return state->requests.written(response, command, key, std::move(mark));
  };
  impl_->core().async_server_calls().ask_until_ready(std::move(script),
                                                     reading<fence_result>(std::move(read), std::move(done)));
}

void fence::async_claim(fence_token token, write_handler done) {
  sync::check_handler(done, impl_->requests.resource());
  if (token.lost()) {
    done(fence_result::refused_lost, nullptr);
    return;
  }
  if (impl_->on_etcd) {
    impl_->async_carry_out<fence_result>(impl_->claim_on_etcd(token), result_of, std::move(done));
    return;
  }
  auto read = [state = impl_](net::response const& response) { return state->requests.claimed(response); };
  impl_->core().async_server_calls().ask_until_ready(impl_->requests.claim(token),
                                                     reading<fence_result>(std::move(read), std::move(done)));
}

void fence::async_newest(token_handler done) {
  sync::check_handler(done, impl_->requests.resource());
  if (impl_->on_etcd) {
    impl_->async_carry_out<std::int64_t>({}, std::mem_fn(&etcd::fence_answer::newest), std::move(done));
    return;
  }
  auto const& mark = impl_->requests.mark();
  std::string_view const command[]{"GET", mark};
  auto read = [state = impl_](net::response const& response) { return state->requests.newest(response); };
  impl_->core().async_server_calls().ask_until_ready(command, mark,
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
