/// Where an interpreter has its objects: most are small, and live for one script.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <utility>
#include <vector>

namespace holdfast::memory {

/// Small blocks are cut from large pieces, which stay, and wait in a list for each size while they are free:
/// malloc, which merges what a collection of garbage has freed, took a tenth of the simulation's time.
class lua_memory {
 public:
  /// As lua_Alloc says.
  static void* allocate(void* memory, void* block, std::size_t old_size, std::size_t size) noexcept {
    return static_cast<lua_memory*>(memory)->change(block, block == nullptr ? 0 : old_size, size);
  }

 private:
  static constexpr std::size_t unit = 16;
  static constexpr std::size_t largest = 16 * unit;  ///< of the small ones
  static constexpr std::size_t piece_size = 64 * 1024;

  struct free_block {
    free_block* next;
  };
  struct freeing {
    void operator()(std::byte* piece) const noexcept { std::free(piece); }
  };

  static bool small(std::size_t size) noexcept { return size <= largest; }
  /// Of small blocks that aren't empty.
  static std::size_t list_of(std::size_t size) noexcept { return (size - 1) / unit; }

  void* change(void* block, std::size_t old_size, std::size_t size) noexcept {
    if (size == 0 || old_size == 0) {
      if (old_size != 0) give_back(block, old_size);
      return size == 0 ? nullptr : take(size);
    }
    if (small(old_size) && small(size) && list_of(old_size) == list_of(size)) return block;
    if (!small(old_size) && !small(size)) return std::realloc(block, size);
    auto* const moved = take(size);
    if (moved == nullptr) return size < old_size ? block : nullptr;  // Lua takes it that shrinking succeeds
    std::memcpy(moved, block, std::min(old_size, size));
    give_back(block, old_size);
    return moved;
  }

  void* take(std::size_t size) noexcept {
    if (!small(size)) return std::malloc(size);
    auto& list = free_[list_of(size)];
    if (list == nullptr) return cut((list_of(size) + 1) * unit);
    auto* const block = list;
    list = block->next;
    return block;
  }

  void give_back(void* block, std::size_t size) noexcept {
    if (!small(size)) return std::free(block);
    auto& list = free_[list_of(size)];
    list = new (block) free_block{list};
  }

  void* cut(std::size_t size) noexcept {
    if (left_ < size && !add_piece()) return nullptr;
    left_ -= size;
    return pieces_.back().get() + left_;
  }
  bool add_piece() noexcept try {
    std::unique_ptr<std::byte, freeing> piece{static_cast<std::byte*>(std::malloc(piece_size))};
    if (!piece) return false;
    pieces_.push_back(std::move(piece));
    left_ = piece_size;
    return true;
  } catch (std::bad_alloc const&) {
    return false;
  }

  std::array<free_block*, largest / unit> free_{};
  std::vector<std::unique_ptr<std::byte, freeing>> pieces_;
  std::size_t left_ = 0;  ///< of the last piece
};

}  // namespace holdfast::memory
