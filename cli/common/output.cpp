#include "common/output.hpp"

#include "base/printable.hpp"
#include "common/standard_error.hpp"

#include <fmt/format.h>
#include <spdlog/logger.h>
#include <spdlog/sinks/base_sink.h>

#include <memory>
#include <mutex>

namespace holdfast::cli::output {
namespace {

/// Never destroyed: threads of the client may have something to say until the end.
standard_error& messages() {
  static auto& the_stream = *new standard_error;
  return the_stream;
}

class message_sink : public spdlog::sinks::base_sink<std::mutex> {
 protected:
  void sink_it_(spdlog::details::log_msg const& message) override {
    spdlog::memory_buf_t line;
    formatter_->format(message, line);
    messages().write({line.data(), line.size()});
  }
  void flush_() override {}
};

/// Without spdlog's registry, whose set-up costs start-up time and is not needed for one logger.
spdlog::logger& logger() {
  static spdlog::logger the_logger{"holdfast", std::make_shared<message_sink>()};
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

void begin_to_keep() { messages().begin_to_keep(); }

void end_to_keep() { messages().end_to_keep(); }

std::chrono::nanoseconds write_kept() {
  return messages().write_kept() ? std::chrono::nanoseconds::max() : std::chrono::seconds{1};
}

std::string quoted(std::string_view const name) { return fmt::format("\"{}\"", one_line(name)); }

}  // namespace holdfast::cli::output
