#include "script/translator.hpp"

#include <algorithm>
#include <utility>

#include "resp/command.hpp"

namespace holdfast::scripting {
namespace {

enum way_taken : std::uint8_t { by_module, by_native_commands, without_scripts, refused_here };

constexpr int requests_by_script = 64;

/// Begins what holds on to something: the place to refuse what was asked for and isn't there. A release goes
/// as it can.
bool takes_a_lock(std::string_view script) noexcept { return script.ends_with(".acquire"); }

bool has(std::string_view text, std::string_view part) noexcept {
  return text.find(part) != std::string_view::npos;
}

/// The command itself isn't there, or isn't allowed.
bool is_about_the_command(resp::reply const& reply) noexcept {
  return reply.is_error() &&
         (reply.is_error("NOPERM") || has(reply.text, "unknown command") ||
          has(reply.text, "permissions to run") || has(reply.text, "can't run this command"));
}

bool is_about_scripts(resp::reply const& reply) noexcept {
  return is_about_the_command(reply) &&
         (has(reply.text, "'evalsha'") || has(reply.text, "'eval'") || has(reply.text, "'EVALSHA'") ||
          has(reply.text, "'EVAL'") || has(reply.text, "`EVALSHA`") || has(reply.text, "`EVAL`"));
}

constexpr std::string_view remedy_for_scripts{
    "allow +eval +evalsha, or use a server with compare-and-delete: Redis 8.4, Valkey 9, or one with the "
    "module "
    "holdfast or TairString"};

/// The connection needs something to wait for, so that the refusal keeps its place among the replies.
net::exchange refusal(std::string reason) {
  net::exchange now{.way = refused_here, .note = std::move(reason)};
  resp::append_command(now.bytes, {"PING"});
  return now;
}

/// `lua` stands for the scripts, and `module` for its commands, from the first request on.
bool allows_transactions(cas way) noexcept { return way == cas::automatic || way == cas::native; }

}  // namespace

void contended_locks::note(std::string_view lock) noexcept {
  auto const hash = std::hash<std::string_view>{}(lock);
  all_[hash % places] = {.hash = hash, .requests_left = requests_by_script};
}

bool contended_locks::take(std::string_view lock) noexcept {
  auto const hash = std::hash<std::string_view>{}(lock);
  auto& found = all_[hash % places];
  if (found.hash != hash || found.requests_left == 0) return false;
  --found.requests_left;
  return true;
}

/// One server, as one connection knows it.
class command_translator::server_translation final : public net::translation {
 public:
  server_translation(command_translator& client, capabilities server)
      : client_{client}, server_{std::move(server)}, has_module_{server_.has_module()} {}

  void begin(net::request const& request, bool resent, net::exchange& now) override {
    auto const& name = script_of(request).name;
    // An earlier copy may have deleted the lock and told nobody, where the release itself would do nothing.
    auto const finishes = resent && client_.gone_in_steps_ && name == "exclusive.release" &&
                          (server_.scripts || server_.native != dialect::none);
    auto const index = finishes ? none : module_index(name);
    if (index != none && !is_for_the_script(index, request)) {
      ++client_.counts_.by_module;
      append_as_command(now.bytes, request, module_commands()[index]);
      now.way = by_module;
      now.step = static_cast<std::uint8_t>(index);
      return;
    }
    if (auto reason = index == none ? why_not(name) : std::string{}; !reason.empty()) {
      now = refusal(std::move(reason));
    } else if (!server_.scripts) {
      now = begin_without_scripts(request, name);
    } else if (auto commands = begin_natively(request, name); !commands.bytes.empty()) {
      ++client_.counts_.by_native_command;
      now = std::move(commands);
    } else {
      ++client_.counts_.by_script;
      if (!finishes) return;
      now = finish_release(spoken_call{request.bytes}, context(resent));
      now.way = by_native_commands;
    }
  }

  net::meaning read(net::request const& request, net::exchange const& now, std::span<resp::reply> replies,
                    bool resent) override {
    if (now.way == refused_here) return net::meaning::answer(error_reply(now.note));
    if (now.way == by_module) return read_module(now.step, request, replies[0]);
    auto const& name = script_of(request).name;
    auto const* const words = now.way == without_scripts ? scriptless_form(name) : native_form(name);
    spoken_call const call{request.bytes};
    auto found = words->read(call, context(resent), now, replies);
    if (found.type == net::meaning::kind::more) {
      found.next.way = now.way;
      if (now.way == by_native_commands && found.carried_out) contended_.note(call.keys[0]);
    }
    if (found.type == net::meaning::kind::unsuited) {
      if (now.way == without_scripts) return net::meaning::answer(std::move(found.reply));
      do_without(name, found.reply, call);
    }
    return found;
  }

  bool reconsiders(net::request const& request, resp::reply const& refusal) override {
    if (!server_.scripts || client_.choice_.scripts == script_trial::needed || !is_about_scripts(refusal))
      return false;
    if (server_.native == dialect::none || scriptless_form(script_of(request).name) == nullptr) return false;
    client_.warn_once("the server doesn't run scripts any more, so locks go without them from now on",
                      refusal.text);
    server_.scripts = false;
    server_.no_scripts = refusal.text;
    client_.note(server_);
    return true;
  }

 private:
  static constexpr std::size_t none = static_cast<std::size_t>(-1);

  static script const& script_of(net::request const& request) noexcept {
    return *static_cast<script const*>(request.script);
  }

  [[nodiscard]] form_context context(bool resent) const noexcept {
    return {.server = server_, .wake = client_.wake_, .resent = resent};
  }

  [[nodiscard]] bool may(cas way) const noexcept {
    return client_.choice_.way == cas::automatic || client_.choice_.way == way;
  }

  [[nodiscard]] std::size_t module_index(std::string_view name) const noexcept {
    if (!has_module_ || !may(cas::module)) return none;
    auto const all = module_commands();
    for (std::size_t i = 0; i != all.size(); ++i) {
      if (all[i].script == name && server_.module[i] && (server_.scripts || !all[i].partial)) return i;
    }
    return none;
  }

  /// A lock that somebody was met at a moment ago, whom a partial command of the module does nothing for.
  [[nodiscard]] bool is_for_the_script(std::size_t index, net::request const& request) {
    return module_commands()[index].partial && contended_.take(spoken_call{request.bytes}.keys[0]);
  }

  /// Why a lock can't be taken at all in the way that was asked for; empty: it can.
  [[nodiscard]] std::string why_not(std::string_view name) const {
    if (!takes_a_lock(name)) return {};
    if (client_.choice_.way == cas::module && module_knows(name))
      return "ERR cas=module: the server has no module holdfast with this command, or the user may not ask "
             "(+command|info); load the module, or leave cas out";
    auto const plain = name.starts_with("exclusive.") || name.starts_with("quorum.");
    if (client_.choice_.way == cas::native && plain && server_.native == dialect::none)
      return "ERR cas=native: the server has no compare-and-delete (DELEX of Redis 8.4, DELIFEQ of Valkey 9, "
             "CAD "
             "of TairString), or the user may not ask (+command|info); leave cas out";
    return {};
  }

  [[nodiscard]] static bool module_knows(std::string_view name) noexcept {
    auto const all = module_commands();
    return std::ranges::find(all, name, &module_command::script) != all.end();
  }

  [[nodiscard]] net::exchange begin_natively(net::request const& request, std::string_view name) {
    if (!may(cas::native) || server_.native == dialect::none || !request.in_steps) return {};
    auto const* const words = native_form(name);
    if (words == nullptr) return {};
    spoken_call const call{request.bytes};
    if (call.keys.empty() || contended_.take(call.keys[0])) return {};
    auto now = words->begin(call, context(false));
    now.way = by_native_commands;
    client_.gone_in_steps_ = true;
    return now;
  }

  [[nodiscard]] net::exchange begin_without_scripts(net::request const& request, std::string_view name) {
    auto const* const words = scriptless_form(name);
    auto const because = server_.no_scripts.empty()
                             ? std::string{"scripts are turned off (?scripts=no)"}
                             : "the server runs no scripts (" + server_.no_scripts + ")";
    if (words == nullptr) {
      return refusal("ERR " + because + ", and this needs one (" + std::string{name} +
                     "); without scripts there are mutex, quorum_mutex and fence on the plain wire");
    }
    if (server_.native == dialect::none) {
      return refusal("ERR " + because +
                     ", and it has no compare-and-delete, so no lock of it could be released "
                     "safely: " +
                     std::string{remedy_for_scripts});
    }
    auto now = words->begin(spoken_call{request.bytes}, context(false));
    now.way = without_scripts;
    client_.gone_in_steps_ = true;
    ++client_.counts_.by_native_command;
    return now;
  }

  [[nodiscard]] net::meaning read_module(std::size_t index, net::request const& request, resp::reply& reply) {
    if (module_commands()[index].partial && reply.is_error("BYSCRIPT")) {
      contended_.note(spoken_call{request.bytes}.keys[0]);
      return {.type = net::meaning::kind::unsuited};
    }
    if (!is_about_the_command(reply)) return net::meaning::answer(std::move(reply));
    server_.module[index] = false;
    client_.warn_once(
        "a command of the module holdfast can't be used, so others of it or scripts are called instead",
        reply.text);
    client_.note(server_);
    return {.type = net::meaning::kind::unsuited};
  }

  /// Without a reason: only this once, to learn more from the script.
  void do_without(std::string_view name, resp::reply const& reason, spoken_call const& call) {
    if (!reason.is_error()) {
      contended_.note(call.keys[0]);
      return;
    }
    if (name == "exclusive.renew") {
      server_.native_expiry = false;
    } else {
      server_.native = dialect::none;
    }
    client_.warn_once("compare-and-set of the server's own can't be used, so scripts are called instead",
                      reason.text);
    client_.note(server_);
  }

  command_translator& client_;
  capabilities server_;
  bool const has_module_;  ///< when the connection was made
  contended_locks contended_;
};

command_translator::command_translator(choice chosen, script const& wake, client_stats& counts,
                                       log_function log)
    : choice_{chosen},
      wake_{wake},
      counts_{counts},
      log_{std::move(log)},
      scriptless_{chosen.scripts == script_trial::unwanted},
      preferred_{.locks_by_transaction = !scriptless_ && allows_transactions(chosen.way)} {}

std::unique_ptr<net::translation> command_translator::learn(std::span<resp::reply const> replies) {
  auto server = read_capabilities(choice_.scripts, replies);
  note(server);
  return std::make_unique<server_translation>(*this, std::move(server));
}

void command_translator::note(capabilities const& server) {
  scriptless_ = !server.scripts;
  no_scripts_ = server.no_scripts;
  counts_.scripts = server.scripts ? script_calls::automatic : script_calls::never;
  auto const allowed = [this](cas way) { return choice_.way == cas::automatic || choice_.way == way; };
  if (allowed(cas::module) && server.has_module()) {
    counts_.way = cas::module;
  } else if (server.native != dialect::none && (allowed(cas::native) || !server.scripts)) {
    counts_.way = cas::native;
  } else {
    counts_.way = cas::lua;
  }
  preferred_ = {.locks_by_transaction =
                    server.scripts && allows_transactions(choice_.way) && counts_.way != cas::module,
                .releases_by_script = counts_.way == cas::lua};
  std::string way{server.scripts ? "scripts" : "no scripts"};
  if (counts_.way != cas::lua && server.native != dialect::none)
    way = std::string{name_of(server.native)} + ", else " + way;
  if (counts_.way == cas::module) way = "commands of the module holdfast, else " + way;
  if (way == way_) return;
  log_(log_level::debug, "the server is asked for locks by " + way);
  way_ = std::move(way);
}

void command_translator::warn_once(std::string const& what, std::string_view reason) {
  if (std::exchange(warned_, true)) return;
  log_(log_level::warning,
       what + " (" + std::string{reason} +
           "); if a right is missing, holdfast doctor --prefix prints the rule, and cas=lua in "
           "the URL does without");
}

}  // namespace holdfast::scripting
