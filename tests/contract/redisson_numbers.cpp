#include "contract/redisson_numbers.hpp"

#include "scripts/redisson_number.hpp"
#include "sync/redisson/permit_id.hpp"

namespace holdfast::contract {

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
    if (one.find(":holdfast_done:") != std::string::npos) {
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

call redisson_numbers::try_set(std::int64_t number, std::int64_t message, std::string_view what) {
  return scripts::redisson_number::try_set{.counter = {name_},
                                           .done = {new_note()},
                                           .answered = {},
                                           .number = number,
                                           .message = message,
                                           .publish = "PUBLISH",
                                           .channel = channel_,
                                           .done_ms = day,
                                           .what = what}();
}

std::string const& redisson_numbers::new_note() {
  auto const number = std::to_string(notes_.size() + 1);
  return *notes_.insert(names::redisson::done(name_, std::string{me.substr(0, 36)} + ":r" + number)).first;
}

}  // namespace holdfast::contract
