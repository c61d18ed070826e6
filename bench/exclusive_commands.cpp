#include "exclusive_commands.hpp"

#include <hiredis/hiredis.h>

#include <memory>
#include <stdexcept>

#include "script/names.hpp"
#include "script/names_redisson.hpp"
#include "scripts/exclusive.hpp"

namespace holdfast::bench {
namespace {

struct free_reader {
  void operator()(redisReader* reader) const noexcept { redisReaderFree(reader); }
};
struct free_reply {
  void operator()(redisReply* reply) const noexcept { freeReplyObject(reply); }
};

/// The words of a call: a request has the form of a reply, so hiredis can read it.
std::vector<std::string> words_of(call const& request) {
  std::unique_ptr<redisReader, free_reader> const reader{redisReaderCreate()};
  redisReaderFeed(reader.get(), request.bytes.data(), request.bytes.size());
  void* read = nullptr;
  if (redisReaderGetReply(reader.get(), &read) != REDIS_OK || read == nullptr) {
    throw std::logic_error{"a call isn't a list of words"};
  }
  std::unique_ptr<redisReply, free_reply> const list{static_cast<redisReply*>(read)};
  std::vector<std::string> words;
  words.reserve(list->elements);
  for (std::size_t i = 0; i < list->elements; ++i)
    words.emplace_back(list->element[i]->str, list->element[i]->len);
  return words;
}

exclusive_commands script_words(std::string const& name, std::string const& owner) {
  auto const counter = names::token_counter(name);
  auto const queue = names::queue(name);
  // The values of the default lock_options.
  scripts::exclusive::acquire const acquire{.lock{name},
                                            .counter{counter},
                                            .queue{queue},
                                            .owner = owner,
                                            .ttl_ms = 30'000,
                                            .tokens = 1,
                                            .mode = "join",
                                            .ticket = ""};
  scripts::exclusive::release const release{.lock{name},
                                            .counter{counter},
                                            .queue{queue},
                                            .owner = owner,
                                            .starvation_us = 100'000,
                                            .grant_ms = 2'000,
                                            .publish = "PUBLISH"};
  return {{words_of(acquire())}, {words_of(release())}};
}

constexpr auto delete_own =
    "if redis.call(\"get\",KEYS[1]) == ARGV[1] then return redis.call(\"del\",KEYS[1]) else return 0 end";

constexpr auto redisson_acquire = R"(
if redis.call('EXISTS', KEYS[1]) == 1 and redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then
  return redis.call('PTTL', KEYS[1])
end
redis.call('HSET', KEYS[1], ARGV[1], 1)
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return nil)";

constexpr auto redisson_release = R"(
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then return nil end
redis.call('DEL', KEYS[1])
redis.call('PUBLISH', KEYS[2], '0')
return 1)";

}  // namespace

command_maker naive_commands(connection& redis) {
  return [release = redis.ask({"SCRIPT", "LOAD", delete_own})](std::string const& name,
                                                               std::string const& owner) {
    return exclusive_commands{{{"SET", name, owner, "NX", "PX", "30000"}},
                              {{"EVALSHA", release, "1", name, owner}}};
  };
}

command_maker fast_commands(connection& redis) {
  using script = scripts::exclusive::fast_release;
  return [release = redis.ask({"SCRIPT", "LOAD", std::string{script::source.text}})](
             std::string const& name, std::string const& owner) {
    return exclusive_commands{{{"MULTI"},
                               {"SET", name, owner, "NX", "PX", "30000"},
                               {"INCR", names::token_counter(name)},
                               {"EXEC"}},
                              {{"EVALSHA", release, "2", name, names::queue(name), owner}}};
  };
}

command_maker module_commands(connection& /*redis*/) {
  return [](std::string const& name, std::string const& owner) {
    return exclusive_commands{{{"HOLDFAST.TAKE", name, owner, "30000"}}, {{"HOLDFAST.GIVE", name, owner}}};
  };
}

command_maker library_commands(connection& redis) {
  return redis.has_module() ? module_commands(redis) : fast_commands(redis);
}

command_maker script_commands(connection& redis) {
  redis.call({"SCRIPT", "LOAD", std::string{scripts::exclusive::acquire::source.text}});
  redis.call({"SCRIPT", "LOAD", std::string{scripts::exclusive::release::source.text}});
  return script_words;
}

command_maker redisson_commands(connection& redis) {
  return [acquire = redis.ask({"SCRIPT", "LOAD", redisson_acquire}),
          release = redis.ask({"SCRIPT", "LOAD", redisson_release})](std::string const& name,
                                                                     std::string const& owner) {
    auto const channel = names::redisson::lock_channel(name);
    return exclusive_commands{{{"EVALSHA", acquire, "1", name, owner, "30000"}},
                              {{"EVALSHA", release, "2", name, channel, owner}}};
  };
}

}  // namespace holdfast::bench
