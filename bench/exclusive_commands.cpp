#include "exclusive_commands.hpp"

#include <fmt/format.h>
#include <hiredis/hiredis.h>

#include <memory>
#include <stdexcept>

#include "script/names.hpp"
#include "scripts.hpp"

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
  auto const bytes = fmt::format("*{}\r\n$7\r\nEVALSHA\r\n${}\r\n{}\r\n{}", request.parts,
                                 request.source->sha1.size(), request.source->sha1, request.tail);
  std::unique_ptr<redisReader, free_reader> const reader{redisReaderCreate()};
  redisReaderFeed(reader.get(), bytes.data(), bytes.size());
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

}  // namespace

exclusive_commands commands_for(std::string const& name, std::string const& owner) {
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
                                            .grant_ms = 2'000};
  return {words_of(acquire()), words_of(release())};
}

std::vector<std::vector<std::string>> script_loads() {
  return {{"SCRIPT", "LOAD", std::string{scripts::exclusive::acquire::source.text}},
          {"SCRIPT", "LOAD", std::string{scripts::exclusive::release::source.text}}};
}

}  // namespace holdfast::bench
