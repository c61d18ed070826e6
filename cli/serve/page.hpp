/// The files of the page, which the build puts into the command (cmake/EmbedFiles.cmake).
#pragma once

#include <span>
#include <string_view>

namespace holdfast::cli {

struct page_file {
  std::string_view name;
  std::string_view content;
};

[[nodiscard]] std::span<page_file const> page_files();

}  // namespace holdfast::cli
