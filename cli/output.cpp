#include "output.hpp"

#include <fmt/format.h>
#include <spdlog/logger.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <memory>

namespace holdfast::cli::output {
namespace {

/// Not spdlog's registry: its set-up starts what one logger doesn't need, and start-up time counts.
spdlog::logger& logger() {
  static spdlog::logger the_logger{"holdfast", std::make_shared<spdlog::sinks::stderr_sink_mt>()};
  return the_logger;
}

void write(spdlog::level::level_enum const level, std::string_view const message) {
  logger().log(level, one_line(message));
}

}  // namespace

std::string one_line(std::string_view const text) {
  std::string line;
  line.reserve(text.size());
  bool after_c2 = false;
  for (char const c : text) {
    auto const byte = static_cast<unsigned char>(c);
    bool const c1 = after_c2 && byte >= 0x80 && byte < 0xa0;  // U+0080 to U+009F, such as CSI
    after_c2 = byte == 0xc2;
    if (c1) {
      line.pop_back();
      line += fmt::format("\\xc2\\x{:02x}", byte);
    } else if (byte < 0x20 || byte == 0x7f) {
      line += fmt::format("\\x{:02x}", byte);
    } else {
      line += c;
    }
  }
  return line;
}

void set_up(detail const how_much) {
  bool const verbose = how_much == detail::verbose;
  logger().set_level(verbose ? spdlog::level::debug : spdlog::level::warn);
  logger().set_pattern(verbose ? "%H:%M:%S.%e holdfast: %v" : "holdfast: %v");
}

void tell(std::string_view const message) { write(spdlog::level::info, message); }
void note(std::string_view const message) { write(spdlog::level::warn, message); }
void error(std::string_view const message) { write(spdlog::level::err, message); }

log_hook hook() {
  return [](log_level const level, std::string_view const message) {
    switch (level) {
      case log_level::debug:
        return write(spdlog::level::debug, message);
      case log_level::info:
        return write(spdlog::level::info, message);
      case log_level::warning:
        return write(spdlog::level::warn, message);
      case log_level::error:
        return write(spdlog::level::err, message);
    }
  };
}

std::string quoted(std::string_view const name) { return fmt::format("\"{}\"", one_line(name)); }

}  // namespace holdfast::cli::output
