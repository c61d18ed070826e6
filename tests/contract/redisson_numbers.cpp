#include "contract/redisson_numbers.hpp"

#include <hiredis/hiredis.h>

#include <stdexcept>

#include "sync/redisson/permit_id.hpp"

namespace holdfast::contract {

void overheard::closer::operator()(redisContext* context) const noexcept { redisFree(context); }

overheard::overheard(test::redis_server const& on) : context_{redisConnectUnix(on.socket_path().c_str())} {
  redisAppendCommand(context_.get(), "PSUBSCRIBE *");
  (void)read();
}

/// The texts of the next reply.
words overheard::read() {
  void* received = nullptr;
  if (redisGetReply(context_.get(), &received) != REDIS_OK) throw std::runtime_error{context_->errstr};
  auto* const reply = static_cast<redisReply*>(received);
  words result;
  for (std::size_t i = 0; i < reply->elements; ++i) {
    if (reply->element[i]->str != nullptr)
      result.emplace_back(reply->element[i]->str, reply->element[i]->len);
  }
  freeReplyObject(reply);
  return result;
}

// PING is answered behind everything that was published before.
std::vector<std::string> overheard::take() {
  std::vector<std::string> all;
  redisAppendCommand(context_.get(), "PING end");
  for (auto reply = read(); reply.size() == 4 && reply[0] == "pmessage"; reply = read())
    all.push_back(reply[2] + " " + reply[3]);
  return all;
}

void redisson_numbers::run(call const& what, reply_matcher const& reply,
                           std::vector<std::string> const& payloads, reply_matcher const& again) {
  SCOPED_TRACE(what.source->name);
  std::vector<std::string> wanted;
  for (auto const& one : payloads) wanted.push_back(channel_ + " " + one);
  EXPECT_THAT(raw_.command(eval(what)), reply);
  EXPECT_EQ(messages_.take(), wanted);
  auto const before = state();

  SCOPED_TRACE("sent twice");
  EXPECT_THAT(raw_.command(eval(what)), again);
  EXPECT_THAT(messages_.take(), testing::IsEmpty());
  EXPECT_EQ(state(), before);
}

keys_and_values redisson_numbers::state() {
  keys_and_values all;
  for (auto const& one : raw_.keys()) {
    if (one.rfind("holdfast_done:", 0) == 0) {
      EXPECT_THAT(raw_.pttl(one), testing::Gt(0)) << one << " would stay for ever";
    } else if (raw_.command({"TYPE", one}).text == "zset") {
      auto& members = all[one];
      for (auto const& member : raw_.command({"ZRANGE", one, "0", "-1"}).elements)
        members += (members.empty() ? "" : " ") + sync::redisson::shown(member.text);
    } else {
      all[one] = raw_.command({"GET", one}).text;
    }
  }
  return all;
}

std::int64_t redisson_numbers::now_ms() {
  auto const time = raw_.command({"TIME"});
  return std::stoll(time.elements.at(0).text) * 1'000 + std::stoll(time.elements.at(1).text) / 1'000;
}

std::string const& redisson_numbers::new_note() {
  auto const number = std::to_string(notes_.size() + 1);
  return *notes_.insert(names::redisson::done(name_, std::string{me.substr(0, 36)} + ":r" + number)).first;
}

}  // namespace holdfast::contract
