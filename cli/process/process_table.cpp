#include "process/process_table.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <memory>
#include <string_view>
#include <system_error>

namespace holdfast::cli {
namespace {

/// The text of /proc/ID/stat: "812 (name) S 1 812 812 …". A name may have spaces and brackets in it.
std::optional<process_entry> parse_stat(std::string_view const text) noexcept {
  auto const name_end = text.rfind(") ");
  if (name_end == std::string_view::npos || text.size() < name_end + 5) return std::nullopt;
  char const* const begin = text.data();
  char const* const end = begin + text.size();
  auto const name = text.substr(0, name_end);
  process_entry found{.state = text[name_end + 2], .is_guard = name.substr(name.find('(') + 1) == guard_name};
  if (std::from_chars(begin, end, found.id).ec != std::errc{}) return std::nullopt;
  char const* next = begin + name_end + 4;
  auto const read_next = [&next, end](auto& field) {
    auto const [after, error] = std::from_chars(next, end, field);
    if (error != std::errc{} || after == end) return false;
    next = after + 1;
    return true;
  };
  for (pid_t* const field : {&found.parent, &found.group, &found.session}) {
    if (!read_next(*field)) return std::nullopt;
  }
  constexpr int between = 15;
  for (int field = 0; field < between; ++field) {
    next = std::find(next, end, ' ');
    if (next == end) return std::nullopt;
    ++next;
  }
  if (!read_next(found.started)) return std::nullopt;
  return found;
}

}  // namespace

std::optional<process_entry> process_of(pid_t const id) noexcept {
  constexpr std::string_view folder = "/proc/";
  constexpr std::string_view file_name = "/stat";
  std::array<char, 32> path{};  // the rest stays zero
  char* const number = std::ranges::copy(folder, path.begin()).out;
  std::ranges::copy(file_name, std::to_chars(number, path.end(), id).ptr);
  int const file = open(path.data(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return std::nullopt;
  std::array<char, 1024> text{};  // has the fields that are read, however great their numbers
  auto const size = ::read(file, text.data(), text.size());
  close(file);
  if (size <= 0) return std::nullopt;
  return parse_stat({text.data(), static_cast<std::size_t>(size)});
}

process_table::~process_table() {
  if (entries_ != nullptr) munmap(entries_, room_ * sizeof(process_entry));
}

bool process_table::read() noexcept {
  count_ = 0;
  int const folder = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return false;
  alignas(dirent64) std::array<char, 8192> buffer{};
  for (;;) {
    auto const size = getdents64(folder, buffer.data(), buffer.size());
    if (size <= 0) break;
    for (std::ptrdiff_t at = 0; at < size;) {
      auto const* const entry = reinterpret_cast<dirent64 const*>(buffer.data() + at);
      at += entry->d_reclen;
      char const* const name = static_cast<char const*>(entry->d_name);
      pid_t id = 0;
      if (std::from_chars(name, name + std::strlen(name), id).ec != std::errc{}) continue;
      if (auto const found = process_of(id)) add(*found);
    }
  }
  close(folder);
  std::ranges::sort(all(), {}, &process_entry::id);
  return count_ != 0;
}

void process_table::add(process_entry const& entry) noexcept {
  if (count_ == room_) {
    auto const more = std::max<std::size_t>(room_ * 2, 512);
    void* const memory =
        entries_ == nullptr
            ? mmap(nullptr, more * sizeof entry, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
            : mremap(entries_, room_ * sizeof entry, more * sizeof entry, MREMAP_MAYMOVE);
    if (memory == MAP_FAILED) return;
    entries_ = static_cast<process_entry*>(memory);
    room_ = more;
  }
  std::construct_at(entries_ + count_, entry);
  ++count_;
}

process_entry const* process_table::find(pid_t const id) const noexcept {
  auto const entries = all();
  auto const found = std::ranges::lower_bound(entries, id, {}, &process_entry::id);
  return found != entries.end() && found->id == id ? &*found : nullptr;
}

}  // namespace holdfast::cli
