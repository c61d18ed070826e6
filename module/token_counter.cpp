#include "token_counter.hpp"

#include <array>
#include <charconv>
#include <string_view>

namespace holdfast::server {

token_counter::state token_counter::look() {
  if (!key_) key_.emplace(call_.context(), call_.counter());
  if (key_->is_absent()) return state::sound;
  auto const text = key_->text();
  if (!text) return state::other_type;
  last_ = parse_number(*text);
  return last_ ? state::sound : state::no_number;
}

std::optional<token_block> token_counter::take(std::int64_t const wanted) {
  auto const block = next_tokens(last_, wanted, call_.now_us());
  std::array<char, 24> digits{};
  auto const* const end = std::to_chars(digits.data(), digits.data() + digits.size(), block.last()).ptr;
  owned_string const text{call_.context(),
                          std::string_view{digits.data(), static_cast<std::size_t>(end - digits.data())}};
  auto const lasts = last_ && key_->expires_at() - call_.now_ms() > most_of_a_day;
  if (!(lasts ? key_->replace_text(text.get()) : key_->set(text.get(), call_.after(day))))
    return std::nullopt;
  last_ = block.last();
  return block;
}

}  // namespace holdfast::server
