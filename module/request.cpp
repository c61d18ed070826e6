#include "request.hpp"

#include "calls.hpp"
#include "side_keys.hpp"

#include <chrono>
#include <string>

namespace holdfast::server {

using abi::redis;

std::int64_t request::now_us() {
  if (now_us_ == 0) {
    auto const since_the_epoch = std::chrono::system_clock::now().time_since_epoch();
    now_us_ = std::chrono::duration_cast<std::chrono::microseconds>(since_the_epoch).count();
  }
  return now_us_;
}

bool request::is_out_of_memory() const {
  return (redis.context_flags(context_) & abi::context_out_of_memory) != 0;
}

abi::string* request::side_key(std::size_t const index, std::string_view const suffix) {
  if (keys_.size() > 1) return keys_[index + 1];
  auto& made = side_keys_[index];
  if (made) return made->get();
  static std::string key;  // commands run one after the other
  constexpr std::size_t usual_size = 256;
  set_key_beside(key, text_of(keys_[0]), suffix);
  made.emplace(context_, std::string_view{key});
  if (key.capacity() > usual_size) std::string{}.swap(key);
  return made->get();
}

abi::string* request::string() { return arguments_[next_++]; }

std::int64_t request::number(char const* const name, std::int64_t const least, std::int64_t const most) {
  auto const number = parse_number(text());
  if (number && *number >= least && *number <= most) return *number;
  refuse(std::string{"ERR "}
             .append(name)
             .append(" must be a whole number from ")
             .append(std::to_string(least))
             .append(" to ")
             .append(std::to_string(most))
             .c_str());
  return least;
}

bool request::is_first_of(char const* const name, std::string_view const first,
                          std::string_view const second) {
  auto const word = text();
  if (word != first && word != second) {
    refuse(std::string{"ERR "}
               .append(name)
               .append(" must be ")
               .append(first)
               .append(" or ")
               .append(second)
               .c_str());
  }
  return word == first;
}

publishing request::how_to_publish() {
  auto const word = text();
  if (word == "PUBLISH") return publishing::counted;
  if (word == "SPUBLISH") return publishing::sharded;
  if (word != "UNCOUNTED") refuse("ERR publish must be PUBLISH, SPUBLISH or UNCOUNTED");
  return publishing::uncounted;
}

std::span<abi::string* const> request::rest() {
  auto const left = arguments_.subspan(next_);
  next_ = arguments_.size();
  return left;
}

void request::refuse(char const* const error) {
  if (!refused_) redis.reply_error(context_, error);
  refused_ = true;
}

void request::refuse_type(std::string_view const beginning, abi::string* const key,
                          std::string_view const end) {
  refuse(std::string{beginning}.append(type_name(context_, key)).append(end).c_str());
}

void request::reply_list(std::span<long long const> const numbers) const {
  redis.reply_array(context_, static_cast<long>(numbers.size()));
  for (auto const number : numbers) reply(number);
}

void request::reply_elements(busy const& state) const {
  reply(state.ttl_ms);
  reply(state.ahead);
  reply(state.ticket);
  reply(state.counter);
  redis.reply_text(context_, state.holder.data(), state.holder.size());
  reply(state.held_us);
}

void request::reply_busy(busy const& state) const {
  redis.reply_array(context_, 6);
  reply_elements(state);
}

void request::reply_passed_on(busy const& state) const {
  redis.reply_array(context_, 7);
  reply(2);
  reply_elements(state);
}

}  // namespace holdfast::server
