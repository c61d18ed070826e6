#include "common/output.hpp"

#include "base/printable.hpp"

#include <fmt/format.h>
#include <spdlog/logger.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <memory>

namespace holdfast::cli::output {
namespace {

/// Without spdlog's registry, whose set-up costs start-up time and is not needed for one logger.
spdlog::logger& logger() {
  static spdlog::logger the_logger{"holdfast", std::make_shared<spdlog::sinks::stderr_sink_mt>()};
  return the_logger;
}

void write(spdlog::level::level_enum const level, std::string_view const message) {
  logger().log(level, one_line(message));
}

}  // namespace

std::string one_line(std::string_view const text) { return printable(text); }

void set_up(detail const level) {
  bool const verbose = level == detail::verbose;
  logger().set_level(verbose ? spdlog::level::debug : spdlog::level::warn);
  logger().set_pattern(verbose ? "%H:%M:%S.%e holdfast: %v" : "holdfast: %v");
}

bool verbose() { return logger().should_log(spdlog::level::info); }

void info(std::string_view const message) { write(spdlog::level::info, message); }
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

log_hook hook_of_holder() {
  return [all = hook()](log_level const level, std::string_view const message) {
    bool const is_loss =
        message.starts_with("lease of ") && message.find(" lost: ") != std::string_view::npos;
    all(is_loss ? log_level::info : level, message);
  };
}

std::string quoted(std::string_view const name) { return fmt::format("\"{}\"", one_line(name)); }

}  // namespace holdfast::cli::output
