#include "common/command_line.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <utility>

namespace holdfast::cli {
namespace {

/// CLI11 has what an option excludes in the order of addresses in memory.
class formatter : public CLI::Formatter {
 public:
  std::string make_option_opts(CLI::Option const* option) const override {
    auto text = CLI::Formatter::make_option_opts(option);
    auto const label = " " + get_label("Excludes") + ":";
    auto const begin = text.find(label);
    if (begin == std::string::npos) return text;
    text.erase(begin + label.size());
    std::vector<std::string> names;
    for (auto const* const other : option->get_excludes()) names.push_back(other->get_name());
    std::ranges::sort(names);
    for (auto const& name : names) text += " " + name;
    return text;
  }
};

class usage_line : public formatter {
 public:
  explicit usage_line(std::string text) : text_{std::move(text)} {}
  std::string make_usage(CLI::App const*, std::string) const override { return "Usage: " + text_ + "\n"; }

 private:
  std::string text_;
};

/// Reads the only word of an option; false: it has the wrong type.
using taker = std::function<bool(std::string const&)>;

// CLI11's add_option<T> is avoided: it instantiates many templates for each T.
CLI::Option& add_value(CLI::App& command, std::string const& names, taker take, std::string const& text,
                       std::string const& shown, std::string const& type) {
  auto* const option = command.add_option(
      names,
      CLI::callback_t{[take = std::move(take)](CLI::results_t const& words) { return take(words[0]); }},
      text);
  return *option->type_name(type)->option_text(shown);
}

template <class Text>
taker into(Text& to) {
  return [&to](std::string const& word) {
    to = word;
    return true;
  };
}

std::int64_t number_in(std::string const& name, std::string const& word) {
  std::int64_t number = 0;
  if (word.empty() || !CLI::detail::lexical_cast(word, number))
    throw CLI::ValidationError{name, '"' + word + "\" is not a whole number"};
  return number;
}

std::string in_order(std::vector<std::string> const& words) {
  std::string text;
  for (auto const& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

CLI::Validator one_of(std::string const& choices) {
  auto const check = [choices](std::string const& word) -> std::string {
    if (std::ranges::count(choices_in(choices), word) != 0) return {};
    auto listed = choices;
    std::ranges::replace(listed, '|', ',');
    return word + " not in {" + listed + '}';
  };
  return {check, ""};
}

bool is_shown(CLI::Option const* const option) { return !option->get_group().empty(); }

declared_value described(CLI::Option const& from) {
  declared_value made{.names = {}, .text = from.get_description(), .shown = {}};
  made.repeats = from.get_items_expected_max() > 1;
  if (from.get_positional()) made.names.push_back(from.get_name(true));
  for (auto const& name : from.get_snames()) made.names.push_back('-' + name);
  for (auto const& name : from.get_lnames()) made.names.push_back("--" + name);
  if (from.get_items_expected_max() > 0) made.shown = from.get_option_text();
  return made;
}

std::vector<declared_value> described(std::vector<CLI::Option const*> const& all) {
  std::vector<declared_value> made;
  made.reserve(all.size());
  for (auto const* const option : all) made.push_back(described(*option));
  return made;
}

std::vector<declared_value> options_of(CLI::App const& app) {
  return described(app.get_options(
      [](CLI::Option const* const option) { return is_shown(option) && option->nonpositional(); }));
}

std::vector<declared_value> operands_of(CLI::App const& app) {
  return described(app.get_options(
      [](CLI::Option const* const option) { return is_shown(option) && option->get_positional(); }));
}

std::vector<CLI::App const*> commands_of(CLI::App const& app) {
  return app.get_subcommands([](CLI::App const*) { return true; });
}

}  // namespace

void command_options::flag(std::string const& names, bool& to, std::string const& text) {
  command_->add_flag(names, to, text);
}

void command_options::value(std::string const& names, std::string& to, std::string const& text,
                            std::string const& shown) {
  add_value(*command_, names, into(to), text, shown, "TEXT");
}

void command_options::value(std::string const& names, std::optional<std::string>& to, std::string const& text,
                            std::string const& shown) {
  add_value(*command_, names, into(to), text, shown, "TEXT");
}

void command_options::values(std::string const& names, std::vector<std::string>& to, std::string const& text,
                             std::string const& shown) {
  auto take = [&to](CLI::results_t const& words) {
    to = words;
    return true;
  };
  auto* const option = command_->add_option(names, CLI::callback_t{std::move(take)}, text);
  option->type_name("TEXT")->option_text(shown)->type_size(1)->expected(
      1, CLI::detail::expected_max_vector_size);
  // Otherwise an option would take the operands behind its word, too.
  option->allow_extra_args(option->get_positional());
}

void command_options::value(std::string const& names, std::optional<std::int64_t>& to,
                            std::string const& text, std::string const& shown) {
  auto take = [&to, names](std::string const& word) {
    to = number_in(names, word);
    return true;
  };
  add_value(*command_, names, std::move(take), text, shown, "INT");
}

void command_options::choice(std::string const& names, std::string& to, std::string const& text,
                             std::string const& choices) {
  add_value(*command_, names, into(to), text, choices, "TEXT").check(one_of(choices));
}

void command_options::choice_or(std::string const& name, std::string const& implied, std::string& to,
                                std::string const& text, std::string const& choices) {
  command_->add_flag(name + '{' + implied + '}', to, text)
      ->check(one_of(choices))
      ->option_text("[=" + choices + "]");
}

void command_options::operand(std::string const& name, std::string& to, std::string const& text) {
  value(name, to, text, " ");
}

void command_options::operands(std::string const& name, std::vector<std::string>& to,
                               std::string const& text) {
  command_->add_option(name, to, text)->option_text(" ");
}

void command_options::required(std::string const& name) { command_->get_option(name)->required(); }

void command_options::excludes(std::string const& name, std::string const& other) {
  command_->get_option(name)->excludes(command_->get_option(other));
}

void command_options::not_empty(std::string const& name) {
  auto const check = [](std::string const& word) { return std::string{word.empty() ? "it is empty" : ""}; };
  command_->get_option(name)->check(CLI::Validator{check, ""});
}

void command_options::usage(std::string const& line) {
  command_->formatter(std::make_shared<usage_line>(line));
}

void command_options::footer(std::string_view const text) { command_->footer(std::string{text}); }

void command_options::when_read(std::function<void()> called) { command_->final_callback(std::move(called)); }

command_line::command_line(std::string const& name, std::string const& text, std::string const& version)
    : app_{std::make_unique<CLI::App>(text, name)} {
  app_->formatter(std::make_shared<formatter>());
  app_->set_version_flag("--version", version);
  app_->require_subcommand(0, 1);  // with more, the word after `help` would count as a command to run
}

command_line::~command_line() = default;

void command_line::footer(std::string_view const text) { app_->footer(std::string{text}); }

command_options command_line::add_command(std::string const& name, std::string const& text) {
  return command_options{*app_->add_subcommand(name, text)};
}

reading command_line::read(std::span<char* const> const given_words) {
  using enum reading::outcome;
  try {
    app_->parse(static_cast<int>(given_words.size()), given_words.data());
  } catch (CLI::CallForVersion const& version) {
    return {answer, version.what()};
  } catch (CLI::CallForHelp const&) {
    auto const command = given();
    return {answer, command.empty() ? help() : help_of(command)};
  } catch (CLI::ExtrasError const&) {
    auto const words = app_->remaining(true);  // its own text lists them in reverse
    bool const before_command = !app_->remaining(false).empty();
    if (words.front().starts_with('-') && !before_command)
      return {wrong, "there is no option " + words.front()};
    return {surplus,
            "unexpected: " + in_order(words) + (before_command ? " (options follow the command)" : "")};
  } catch (CLI::RequiredError const& problem) {
    return {missing, problem.what()};
  } catch (CLI::ParseError const& problem) {
    return {wrong, problem.what()};
  }
  return {};
}

std::string command_line::given() const {
  auto const given = app_->get_subcommands();
  return given.empty() ? std::string{} : given.front()->get_name();
}

std::string command_line::help() const {
  // App::help() would explain the command that was given: `help` itself.
  return app_->get_formatter()->make_help(app_.get(), app_->get_name(), CLI::AppFormatMode::Normal);
}

std::string command_line::help_of(std::string const& command) const {
  return app_->get_subcommand(command)->help();
}

std::vector<std::string> command_line::command_names() const {
  std::vector<std::string> names;
  for (auto const* const command : commands_of(*app_)) names.push_back(command->get_name());
  return names;
}

std::vector<declared_command> command_line::commands() const {
  std::vector<declared_command> made;
  for (auto const* const command : commands_of(*app_)) {
    made.push_back({.name = command->get_name(),
                    .text = command->get_description(),
                    .options = options_of(*command),
                    .operands = operands_of(*command)});
  }
  return made;
}

std::vector<declared_value> command_line::options() const { return options_of(*app_); }

std::vector<std::string> choices_in(std::string_view text) {
  std::vector<std::string> words;
  for (;;) {
    auto const end = text.find('|');
    words.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  if (words.size() == 1) words.clear();
  return words;
}

}  // namespace holdfast::cli
