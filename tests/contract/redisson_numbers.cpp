#include "contract/redisson_numbers.hpp"

#include "scripts/redisson_number.hpp"
#include "wire/redisson/permit_id.hpp"

namespace holdfast::contract {

void redisson_numbers::run(call const& script_call, reply_matcher const& reply,
                           std::vector<std::string> const& payloads, reply_matcher const& again) {
  SCOPED_TRACE(script_call.source->name);
  std::vector<std::string> wanted;
  for (auto const& payload : payloads) wanted.push_back(channel_ + " " + payload);
  EXPECT_THAT(raw_.command(eval(script_call)), reply);
  EXPECT_EQ(messages_.take(), wanted);
  auto const before = state();

  SCOPED_TRACE("sent twice");
  EXPECT_THAT(raw_.command(eval(script_call)), again);
  EXPECT_THAT(messages_.take(), testing::IsEmpty());
  EXPECT_EQ(state(), before);
}

keys_and_values redisson_numbers::state() {
  keys_and_values all;
  for (auto const& key : raw_.keys()) {
    if (key.find(":holdfast_done:") != std::string::npos) {
      EXPECT_THAT(raw_.pttl(key), testing::Gt(0)) << key << " would stay for ever";
    } else if (raw_.command({"TYPE", key}).text == "zset") {
      auto& members = all[key];
      for (auto const& member : raw_.command({"ZRANGE", key, "0", "-1"}).elements)
        members += (members.empty() ? "" : " ") + recipes::redisson::shown(member.text);
    } else {
      all[key] = raw_.command({"GET", key}).text;
    }
  }
  return all;
}

std::int64_t redisson_numbers::now_ms() {
  auto const time = raw_.command({"TIME"});
  return std::stoll(time.elements.at(0).text) * 1'000 + std::stoll(time.elements.at(1).text) / 1'000;
}

call redisson_numbers::try_set(std::int64_t number, std::int64_t message, std::string_view description) {
  return scripts::redisson_number::try_set{.counter = {name_},
                                           .done = {new_mark()},
                                           .answered = {},
                                           .number = number,
                                           .message = message,
                                           .publish = "PUBLISH",
                                           .channel = channel_,
                                           .done_ms = day,
                                           .description = description}();
}

std::string const& redisson_numbers::new_mark() {
  auto const number = std::to_string(marks_.size() + 1);
  return *marks_.insert(names::redisson::done(name_, std::string{caller.substr(0, 36)} + ":r" + number))
              .first;
}

}  // namespace holdfast::contract
