/// The type of handlers: std::move_only_function of C++23, for C++20.
#pragma once

#include <cassert>
#include <cstddef>
#include <functional>
#include <new>
#include <type_traits>
#include <utility>

namespace holdfast {

namespace detail {

template <class Signature, std::size_t Room>
class move_only_function;

/// Captures of up to `Room` bytes are stored in place, larger ones are allocated.
template <class Result, class... Args, std::size_t Room>
class move_only_function<Result(Args...), Room> {
 public:
  move_only_function() noexcept = default;
  move_only_function(std::nullptr_t) noexcept {}

  template <class F>
    requires(!std::is_same_v<std::decay_t<F>, move_only_function> &&
             std::is_invocable_r_v<Result, std::decay_t<F>&, Args...>)
  move_only_function(F&& f) {
    using function = std::decay_t<F>;
    if constexpr (requires { static_cast<bool>(f == nullptr); }) {
      if (f == nullptr) return;  // an empty std::function, a null pointer
    }
    if constexpr (sizeof(function) <= Room && alignof(function) <= alignof(void*) &&
                  std::is_nothrow_move_constructible_v<function>) {
      ::new (static_cast<void*>(&storage_)) function(std::forward<F>(f));
      table_ = &in_place<function>;
    } else {
      ::new (static_cast<void*>(&storage_)) function*(new function(std::forward<F>(f)));
      table_ = &on_heap<function>;
    }
  }

  move_only_function(move_only_function&& other) noexcept { take(other); }
  move_only_function& operator=(move_only_function&& other) noexcept {
    if (this != &other) {
      reset();
      take(other);
    }
    return *this;
  }
  move_only_function(move_only_function const&) = delete;
  move_only_function& operator=(move_only_function const&) = delete;
  ~move_only_function() { reset(); }

  void swap(move_only_function& other) noexcept {
    auto previous = std::move(*this);
    *this = std::move(other);
    other = std::move(previous);
  }

  void reset() noexcept {
    if (table_ != nullptr) std::exchange(table_, nullptr)->destroy(&storage_);
  }

  /// It has a function. Calling one that has none is undefined.
  [[nodiscard]] explicit operator bool() const noexcept { return table_ != nullptr; }
  [[nodiscard]] friend bool operator==(move_only_function const& f, std::nullptr_t) noexcept { return !f; }

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

  void take(move_only_function& other) noexcept {
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

  alignas(void*) std::byte storage_[Room];
  functions const* table_ = nullptr;
};

}  // namespace detail

/// Like std::move_only_function: takes any callable, also one that can only be moved, such as a lambda that
/// has a std::promise or a lease. Made of an empty std::function or a null pointer it is empty itself. A type
/// of its own, so that programs of C++20 and C++23 agree with the library on it.
template <class Signature>
using move_only_function = detail::move_only_function<Signature, 4 * sizeof(void*)>;

}  // namespace holdfast
