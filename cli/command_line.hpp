/// The command line: what its commands declare, and the reading of it. CLI11 is behind this, in
/// command_line.cpp alone, since including it costs a file more time to compile than all else in it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

// NOLINTBEGIN(readability-identifier-naming): named by CLI11
namespace CLI {
class App;
}
// NOLINTEND(readability-identifier-naming)

namespace holdfast::cli {

/// What a command takes, declared in the order in which the help lists it; for as long as its command_line
/// lives. A value goes to the variable at `to`, which must live until the command line is read, and stays as
/// it is when nothing is given. `names` has the dashes: "-y,--yes"; a name without any is an operand's.
/// `shown` is what the help calls the value.
class command_options {
 public:
  explicit command_options(CLI::App& command) : command_{&command} {}

  void flag(std::string const& names, bool& to, std::string const& text);
  void value(std::string const& names, std::string& to, std::string const& text, std::string const& shown);
  void value(std::string const& names, std::optional<std::string>& to, std::string const& text,
             std::string const& shown);
  /// A whole number; an empty word counts as none given.
  void value(std::string const& names, std::optional<std::int64_t>& to, std::string const& text,
             std::string const& shown);
  /// One of some words, parted by |; anything else is refused.
  void choice(std::string const& names, std::string& to, std::string const& text, std::string const& choices);
  /// An operand about which the help says no more than `text`.
  void operand(std::string const& name, std::string& to, std::string const& text);

  // Of what is declared already.
  void required(std::string const& name);
  void excludes(std::string const& name, std::string const& other);

  /// A usage line of our own: CLI11 knows nothing of what comes after the --.
  void usage(std::string const& line);
  /// The end of the help.
  void footer(std::string_view text);
  /// Called when this is the command, and all values are where they belong. May throw.
  void when_read(std::function<void()> called);

 private:
  CLI::App* command_;
};

/// An option or an operand, for completion.
struct declared_value {
  std::vector<std::string> names;  ///< with their dashes, short ones first
  std::string text;
  std::string shown;  ///< what it takes, as the help calls it; empty: a flag
};

struct declared_command {
  std::string name;
  std::string text;
  std::vector<declared_value> options;
  std::vector<declared_value> operands;
};

/// What came of reading a command line.
struct reading {
  enum class outcome : std::uint8_t {
    done,     ///< a command was given, or none
    answer,   ///< `text` is the help or the version, which was asked for
    wrong,    ///< `text` says what can't be understood
    surplus,  ///< the same: words are left over
  };
  outcome result = outcome::done;
  std::string text{};
};

/// The commands that there are, and which one was given.
class command_line {
 public:
  command_line(std::string const& name, std::string const& text, std::string const& version);
  command_line(command_line const&) = delete;
  command_line& operator=(command_line const&) = delete;
  ~command_line();

  void footer(std::string_view text);
  [[nodiscard]] command_options add_command(std::string const& name, std::string const& text);

  /// The first word is the program. Throws what `when_read` of the command that is given throws.
  [[nodiscard]] reading read(std::span<char* const> words);
  /// The command that was given; empty: none.
  [[nodiscard]] std::string given() const;

  [[nodiscard]] std::string help() const;
  /// Of a command that there is.
  [[nodiscard]] std::string help_of(std::string const& command) const;

  [[nodiscard]] std::vector<std::string> command_names() const;
  [[nodiscard]] std::vector<declared_command> commands() const;
  /// Those without a command.
  [[nodiscard]] std::vector<declared_value> options() const;

 private:
  std::unique_ptr<CLI::App> app_;
};

/// The words of "term|kill|warn": that is how the help shows a choice. None of a text without |.
[[nodiscard]] std::vector<std::string> choices_in(std::string_view text);

}  // namespace holdfast::cli
