/// A function to be called once, or a few times, later.
#pragma once

#include <cassert>
#include <cstddef>
#include <functional>
#include <new>
#include <type_traits>
#include <utility>

namespace holdfast {

/// Enough for the captures of the hot paths: a few pointers and a number, or a callback with less room.
constexpr std::size_t usual_room = 48;

template <class Signature, std::size_t Room = usual_room>
class callback;

/// Like std::function, but move-only, and with `Room` bytes in place for captures for which std::function
/// would allocate.
template <class Result, class... Args, std::size_t Room>
class callback<Result(Args...), Room> {
 public:
  callback() noexcept = default;
  callback(std::nullptr_t) noexcept {}

  template <class F>
    requires(!std::is_same_v<std::decay_t<F>, callback> &&
             std::is_invocable_r_v<Result, std::decay_t<F>&, Args...>)
  callback(F&& f) {
    using function = std::decay_t<F>;
    if constexpr (requires { static_cast<bool>(f == nullptr); }) {
      if (f == nullptr) return;  // an empty std::function, a null pointer
    }
    if constexpr (sizeof(function) <= Room && alignof(function) <= alignof(std::max_align_t) &&
                  std::is_nothrow_move_constructible_v<function>) {
      ::new (static_cast<void*>(&storage_)) function(std::forward<F>(f));
      table_ = &in_place<function>;
    } else {
      ::new (static_cast<void*>(&storage_)) function*(new function(std::forward<F>(f)));
      table_ = &on_heap<function>;
    }
  }

  callback(callback&& other) noexcept { take(other); }
  callback& operator=(callback&& other) noexcept {
    if (this != &other) {
      reset();
      take(other);
    }
    return *this;
  }
  callback(callback const&) = delete;
  callback& operator=(callback const&) = delete;
  ~callback() { reset(); }

  void swap(callback& other) noexcept {
    auto previous = std::move(*this);
    *this = std::move(other);
    other = std::move(previous);
  }

  void reset() noexcept {
    if (table_ != nullptr) std::exchange(table_, nullptr)->destroy(&storage_);
  }

  [[nodiscard]] explicit operator bool() const noexcept { return table_ != nullptr; }

  Result operator()(Args... args) {
    assert(table_ != nullptr);
    return table_->call(&storage_, std::forward<Args>(args)...);
  }

 private:
  struct functions {
    Result (*call)(void*, Args&&...);
    void (*move)(void* from, void* to) noexcept;
    void (*destroy)(void*) noexcept;
  };

  void take(callback& other) noexcept {
    if (other.table_ == nullptr) return;
    table_ = std::exchange(other.table_, nullptr);
    table_->move(&other.storage_, &storage_);
  }

  template <class F>
  static F& of(void* storage) noexcept {
    return *std::launder(static_cast<F*>(storage));
  }

  template <class F>
  static constexpr functions in_place{
      [](void* s, Args&&... args) -> Result { return of<F>(s)(std::forward<Args>(args)...); },
      [](void* from, void* to) noexcept {
        ::new (to) F(std::move(of<F>(from)));
        of<F>(from).~F();
      },
      [](void* s) noexcept { of<F>(s).~F(); }};

  template <class F>
  static constexpr functions on_heap{
      [](void* s, Args&&... args) -> Result { return (*of<F*>(s))(std::forward<Args>(args)...); },
      [](void* from, void* to) noexcept { ::new (to) F*(of<F*>(from)); },
      [](void* s) noexcept { delete of<F*>(s); }};

  alignas(std::max_align_t) std::byte storage_[Room];
  functions const* table_ = nullptr;
};

}  // namespace holdfast
