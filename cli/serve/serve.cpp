// `holdfast serve`: a page and an exporter of what locks do, over HTTP.
#include "common/boot_time.hpp"
#include "common/command.hpp"
#include "common/environment.hpp"
#include "common/exit_codes.hpp"
#include "common/options.hpp"
#include "common/output.hpp"
#include "process/service_manager.hpp"
#include "serve/access.hpp"
#include "serve/deployment.hpp"
#include "serve/feed.hpp"
#include "serve/http_server.hpp"
#include "serve/listening.hpp"
#include "serve/routes.hpp"
#include "serve/store.hpp"
#include "serve/tls_context.hpp"
#include "server/choice.hpp"

#include <fmt/format.h>

#include <malloc.h>
#include <sys/resource.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::cli {
namespace {

constexpr auto serve_footer =
    R"(Shows who holds which lock and who waits, as a page for browsers (http://127.0.0.1:7480/), as JSON
(/api/v1/), and as metrics for Prometheus (/metrics). /healthz and /readyz are for whoever watches this process.
docs/serve.md describes all of it. It asks Redis, or etcd, in small steps, and changes nothing there: a look at
`findings` writes what `holdfast doctor` does. With several --url it shows several deployments.

On an address that other machines reach it needs to know its visitors. With --token-file, or HOLDFAST_SERVE_TOKEN, they
say a token: `Authorization: Bearer TOKEN`, or the form of the page. With --client-ca they have a TLS certificate of
these authorities; with both they need both. --tls-cert and --tls-key make it speak TLS.
--allow-release lets visitors take a lock from its holder, as `holdfast release --force` does. Each such act is a
line on stderr, with who did it.
As a service: packaging/systemd has units, also for socket activation.

Exit codes
  0   ended by SIGTERM, SIGINT or SIGHUP
  64  bad option, URL, token file or certificate; an address that others reach, without tokens or client certificates
  69  the address is taken, or can't be had

Examples
  holdfast serve
  holdfast serve --url redis://a.example --url redis+sentinel://s1,s2,s3/mymaster
  holdfast serve --listen 0.0.0.0:7480 --token-file /etc/holdfast/serve-tokens --host locks.example
  holdfast serve --listen 0.0.0.0:7480 --tls-cert serve.crt --tls-key serve.key --client-ca people.crt
  holdfast serve --metrics-prefix orders: --metrics-prefix deploy: --long-hold 5m --long-hold deploy:=1h)";

constexpr auto token_variable = "HOLDFAST_SERVE_TOKEN";
constexpr std::size_t most_prefixes = 50;
/// For all deployments together.
constexpr std::size_t store_bytes = 25'165'824;
constexpr std::size_t most_files = 8'192;
/// Descriptors that connections don't get; a look by doctor opens further connections to each server.
constexpr std::size_t files_of_process = 24;
constexpr std::size_t files_of_deployment = 24;
/// Each takes 75 kB, ten times as much as one without TLS.
constexpr std::size_t most_tls_connections = 500;

struct serve_options {
  common_options common;
  std::vector<std::string> urls;
  std::string listen = "127.0.0.1:7480";
  std::string token_file;
  tls_files tls;
  std::vector<std::string> hosts;
  std::vector<std::string> prefixes;
  std::vector<std::string> long_hold_texts;
  long_hold_rules long_hold{.otherwise = std::chrono::minutes{1}};
  bool allow_release = false;
};

/// "5m", or "deploy:=1h": a prefix may have a = of its own.
void add_long_hold(std::string const& text, long_hold_rules& to) {
  auto const equals = text.rfind('=');
  auto const limit = duration_of("--long-hold", equals == std::string::npos ? text : text.substr(equals + 1));
  if (equals == std::string::npos) {
    to.otherwise = limit;
    return;
  }
  require(equals > 0, "--long-hold: the PREFIX before the = is empty; a DURATION alone is for all locks");
  to.by_prefix.emplace_back(text.substr(0, equals), limit);
}

/// Threads of deployments would each have an arena of their own, and connections need descriptors. Returns
/// how many of these connections may have: if there were none left, nobody could be cut off for a new one.
std::size_t prepare_process(std::size_t const deployments) {
  mallopt(M_ARENA_MAX, 2);
  std::signal(SIGPIPE, SIG_IGN);
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) != 0) return most_files / 2;
  files.rlim_cur = std::min<rlim_t>(files.rlim_max, most_files);
  setrlimit(RLIMIT_NOFILE, &files);
  auto const others = files_of_process + deployments * files_of_deployment;
  return files.rlim_cur > 2 * others ? files.rlim_cur - others : files.rlim_cur / 2;
}

std::string content_of_token_file(std::string const& path) {
  check_secret_file("--token-file", path);
  std::ifstream file{path};
  std::ostringstream text;
  if (!file || !(text << file.rdbuf()))
    throw failure{usage, fmt::format("--token-file: {} can't be read", path)};
  return text.str();
}

std::vector<named_token> tokens_of(serve_options const& options) {
  auto const from_environment = environment_value(token_variable);
  unsetenv(token_variable);
  if (!options.token_file.empty())
    return read_tokens(content_of_token_file(options.token_file), "--token-file");
  if (!from_environment.empty()) return read_tokens(from_environment, token_variable);
  return {};
}

std::vector<std::string> servers_of(serve_options const& options) {
  auto common = options.common;
  if (options.urls.empty()) return {find_locks_server(common)};
  std::vector<std::string> servers;
  servers.reserve(options.urls.size());
  for (auto const& url : options.urls) {
    common.url = url;
    servers.push_back(find_locks_server(common));
  }
  return servers;
}

listening_socket socket_for(serve_options const& options) {
  auto const passed = passed_socket();
  return passed.file >= 0 ? passed : listen_on(options.listen);
}

/// Whoever reaches the socket must be known, unless only this machine does.
void check_reach(listening_socket const& socket, bool const tokens, tls_files const& tls) {
  if (socket.loopback) return;
  if (!tokens && tls.client_ca.empty()) {
    throw failure{usage,
                  fmt::format("--listen: other machines reach {}, so visitors need a token or a certificate: "
                              "give --token-file or {}, or --client-ca with --tls-cert and --tls-key",
                              socket.address, token_variable)};
  }
  if (tls.certificate.empty())
    output::note(
        "tokens and answers can be read on their way: give --tls-cert, or put a proxy with TLS before it");
}

int serve(serve_options const& options) {
  service_manager const manager;
  auto tokens = tokens_of(options);
  auto tls = make_tls_context(options.tls);
  auto const servers = servers_of(options);
  auto const socket = socket_for(options);
  check_reach(socket, !tokens.empty(), options.tls);
  http_limits limits_of_visitors;
  if (tls) limits_of_visitors.connections = most_tls_connections;
  limits_of_visitors.connections = std::min(limits_of_visitors.connections, prepare_process(servers.size()));
  event_feed feed{fmt::format("{:x}", boot_time().count())};
  // In this order: the threads of deployments end before what they send to.
  std::vector<std::unique_ptr<deployment>> deployments;
  serve_routes routes{deployments,
                      servers,
                      access_control{std::move(tokens), options.hosts},
                      feed,
                      {.allow_release = options.allow_release, .long_hold = options.long_hold}};
  auto const answer = [&routes](http_request const& request, responder const& respond) {
    // Whatever a visitor sends must not end the process.
    try {
      routes.answer(request, respond);
    } catch (std::exception const& problem) {
      output::error(fmt::format("a request failed: {}", problem.what()));
      respond(refuse(500, "internal error"));
    }
  };
  http_server server{socket.file, limits_of_visitors, std::move(tls), answer};
  routes.watch(server);
  feed.send_to(
      [&server](std::uint64_t const number, shared_text text) { server.publish(number, std::move(text)); });
  store_limits const limits{.bytes = store_bytes / servers.size(), .prefixes = options.prefixes};
  struct end_first {
    ~end_first() { all.clear(); }
    std::vector<std::unique_ptr<deployment>>& all;
  } const threads_end_first{deployments};
  deployments.reserve(servers.size());
  for (auto const& url : servers) {
    auto const& made =
        *deployments.emplace_back(std::make_unique<deployment>(deployments.size(), url, limits, feed));
    // Ids of locks, and metrics, tell deployments apart by that.
    auto const alike = [&made](auto const& each) { return each->url() == made.url(); };
    if (std::ranges::count_if(deployments, alike) > 1)
      throw failure{usage, fmt::format("--url: {} is given twice", made.url())};
  }
  output::note(fmt::format("listening on {}://{}/{}", options.tls.certificate.empty() ? "http" : "https",
                           socket.address, options.allow_release ? ", and visitors may release locks" : ""));
  manager.tell("READY=1");
  server.run();
  manager.tell("STOPPING=1");
  return ok;
}

}  // namespace

void add_serve(command_line& line, action& chosen) {
  auto const options = std::make_shared<serve_options>();
  auto command = line.add_command("serve", "Show locks in browsers, and to Prometheus, over HTTP");
  command.usage("holdfast serve [OPTIONS]");
  command.value("--listen", options->listen, "Where to listen (default: 127.0.0.1:7480); port 0 takes any",
                "ADDRESS");
  command.values("--url", options->urls,
                 "A Redis or etcd to show, see `holdfast help run`; may be given several times", "URL");
  command.value("--password-file", options->common.password_file, "The file with the password for them",
                "FILE");
  command.flag("--local", options->common.local, "Show the private server of this machine");
  command.value("--token-file", options->token_file, "Who may visit: lines of USER TOKEN", "FILE");
  command.value("--tls-cert", options->tls.certificate,
                "Speak TLS, with this certificate and its chain (PEM)", "FILE");
  command.value("--tls-key", options->tls.key, "The key of that certificate", "FILE");
  command.value("--client-ca", options->tls.client_ca,
                "Let in only clients with a certificate of these authorities", "FILE");
  command.values("--host", options->hosts,
                 "A name by which browsers may call this server; may be given several times", "NAME");
  command.flag("--allow-release", options->allow_release, "Let visitors release locks by force");
  command.values("--metrics-prefix", options->prefixes,
                 "Count locks whose names begin so by themselves; may be given several times", "PREFIX");
  command.values(
      "--long-hold", options->long_hold_texts,
      "What metrics call a long hold (default: 1m), of all locks or those whose names begin so; may be "
      "given several times",
      "[PREFIX=]DURATION");
  command.flag("-v,--verbose", options->common.verbose, "Say what happens");
  for (char const* const name : {"--url", "--password-file", "--token-file", "--listen", "--host",
                                 "--metrics-prefix", "--long-hold", "--tls-cert", "--tls-key", "--client-ca"})
    command.not_empty(name);
  command.excludes("--local", "--url");
  command.excludes("--local", "--password-file");
  command.footer(serve_footer);
  command.when_read([options, &chosen] {
    for (auto const& text : options->long_hold_texts) add_long_hold(text, options->long_hold);
    require(options->long_hold_texts.size() <= most_prefixes,
            fmt::format("--long-hold: {} are too many; at most {}", options->long_hold_texts.size(),
                        most_prefixes));
    require(options->prefixes.size() <= most_prefixes,
            fmt::format("--metrics-prefix: {} are too many; at most {}", options->prefixes.size(),
                        most_prefixes));
    auto const& tls = options->tls;
    require(tls.certificate.empty() || !tls.key.empty(), "--tls-cert: give its key, too, with --tls-key");
    require(tls.key.empty() || !tls.certificate.empty(),
            "--tls-key: give its certificate, too, with --tls-cert");
    require(tls.client_ca.empty() || !tls.certificate.empty(),
            "--client-ca: clients send certificates over TLS only; give --tls-cert and --tls-key, too");
    chosen = [options] {
      set_up(options->common);
      return serve(*options);
    };
  });
}

}  // namespace holdfast::cli
