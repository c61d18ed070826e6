/// The command line: the declared commands, and the parser. CLI11 is included by command_line.cpp only,
/// because it dominates the compile time of a file.
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

/// The options and operands of a command, declared in the order of the help. Valid as long as its
/// command_line. A value is stored in the variable `to`, which must outlive the parsing and is unchanged if
/// the value is not given. `names` includes the dashes: "-y,--yes"; a name without dashes is an operand.
/// `shown` is the placeholder of the value in the help.
class command_options {
 public:
  explicit command_options(CLI::App& command) : command_{&command} {}

  void flag(std::string const& names, bool& to, std::string const& text);
  void value(std::string const& names, std::string& to, std::string const& text, std::string const& shown);
  void value(std::string const& names, std::optional<std::string>& to, std::string const& text,
             std::string const& shown);
  /// May be given several times, with a word each; an operand takes several words.
  void values(std::string const& names, std::vector<std::string>& to, std::string const& text,
              std::string const& shown);
  /// A whole number.
  void value(std::string const& names, std::optional<std::int64_t>& to, std::string const& text,
             std::string const& shown);
  /// One of several words, separated by |; other words are refused.
  void choice(std::string const& names, std::string& to, std::string const& text, std::string const& choices);
  /// The same, and without a value it is `implied`. A value follows after a =, since the next word is another
  /// one.
  void choice_or(std::string const& name, std::string const& implied, std::string& to,
                 std::string const& text, std::string const& choices);
  /// An operand without a placeholder in the help.
  void operand(std::string const& name, std::string& to, std::string const& text);
  /// As many as are given.
  void operands(std::string const& name, std::vector<std::string>& to, std::string const& text);

  // For options that are declared already.
  void required(std::string const& name);
  void excludes(std::string const& name, std::string const& other);
  /// Refuses an empty word, which a script gives by mistake: --url "$UNSET".
  void not_empty(std::string const& name);

  /// Replaces the usage line: CLI11 does not know the words after the --.
  void usage(std::string const& line);
  /// The text at the end of the help.
  void footer(std::string_view text);
  /// Called if this command is given, after all values are stored. May throw.
  void when_read(std::function<void()> called);

 private:
  CLI::App* command_;
};

/// An option or an operand, for completion.
struct declared_value {
  std::vector<std::string> names;  ///< with dashes, short names first
  std::string text;
  std::string shown;  ///< the placeholder of the value; empty: a flag
  bool repeats = false;
};

struct declared_command {
  std::string name;
  std::string text;
  std::vector<declared_value> options;
  std::vector<declared_value> operands;
};

/// The result of parsing a command line.
struct reading {
  enum class outcome : std::uint8_t {
    done,     ///< a command was given, or none
    answer,   ///< `text` is the requested help or version
    wrong,    ///< `text` describes the syntax error
    missing,  ///< `text` describes the error: an operand or an option is required
    surplus,  ///< `text` describes the error: too many words
  };
  outcome result = outcome::done;
  std::string text{};
};

/// The declared commands, and the command that was given.
class command_line {
 public:
  command_line(std::string const& name, std::string const& text, std::string const& version);
  command_line(command_line const&) = delete;
  command_line& operator=(command_line const&) = delete;
  ~command_line();

  void footer(std::string_view text);
  [[nodiscard]] command_options add_command(std::string const& name, std::string const& text);

  /// The first word is the program. Throws what the `when_read` function of the given command throws.
  [[nodiscard]] reading read(std::span<char* const> words);
  /// The command that was given; empty: none.
  [[nodiscard]] std::string given() const;

  [[nodiscard]] std::string help() const;
  /// Requires a declared command.
  [[nodiscard]] std::string help_of(std::string const& command) const;

  [[nodiscard]] std::vector<std::string> command_names() const;
  [[nodiscard]] std::vector<declared_command> commands() const;
  /// The options that belong to no command.
  [[nodiscard]] std::vector<declared_value> options() const;

 private:
  std::unique_ptr<CLI::App> app_;
};

/// The words of a choice such as "term|kill|warn"; empty for a text without |.
[[nodiscard]] std::vector<std::string> choices_in(std::string_view text);

}  // namespace holdfast::cli
