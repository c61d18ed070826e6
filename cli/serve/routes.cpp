#include "serve/routes.hpp"

#include "base/whole_number.hpp"
#include "common/boot_time.hpp"
#include "common/utc_text.hpp"
#include "doctor/deadlocks.hpp"
#include "doctor/diagnosis.hpp"
#include "doctor/report.hpp"
#include "probe/named_servers.hpp"
#include "serve/acts.hpp"
#include "serve/chosen_locks.hpp"
#include "serve/lock_views.hpp"
#include "serve/page.hpp"

#include <holdfast/deadlock.hpp>
#include <holdfast/version.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <utility>

namespace holdfast::cli {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view api = "/api/v1/";
constexpr std::size_t most_listed = 500;
constexpr std::size_t usually_listed = 100;
constexpr std::size_t most_lists = 32;
// How old an answer may be that another visitor has got.
constexpr auto fresh_list = 100ms;
constexpr auto fresh_lock = 100ms;
constexpr auto fresh_blocking = 2s;
constexpr auto fresh_deadlocks = 5s;
constexpr auto fresh_findings = 30s;
constexpr auto examine_interval = 10min;

std::string_view type_of(std::string_view const file) {
  if (file.ends_with(".html")) return "text/html; charset=utf-8";
  if (file.ends_with(".css")) return "text/css; charset=utf-8";
  if (file.ends_with(".js")) return "text/javascript; charset=utf-8";
  return file.ends_with(".svg") ? "image/svg+xml" : "application/json";
}

std::optional<http_response> page(std::string_view path) {
  if (path == "/") path = "/index.html";
  if (!path.starts_with('/')) return std::nullopt;
  for (auto const& file : page_files()) {
    if (path.substr(1) == file.name) {
      auto response = answer_with(std::string{file.content}, type_of(file.name));
      response.headers.emplace_back("Cache-Control", "no-cache");
      return response;
    }
  }
  return std::nullopt;
}

std::size_t number_of(http_request const& request, std::string_view const name, std::size_t const otherwise) {
  return whole_number<std::size_t>(request.parameter(name).value_or("")).value_or(otherwise);
}

lock_filter::order order_of(std::string_view const word) {
  if (word == "name") return lock_filter::order::name;
  if (word == "held") return lock_filter::order::held;
  return word == "ttl" ? lock_filter::order::ttl : lock_filter::order::contention;
}

http_response not_there() { return refuse(404, "there is nothing here; docs/serve.md lists what there is"); }
http_response text_answer(std::string text) {
  return answer_with(std::move(text), "text/plain; charset=utf-8");
}

}  // namespace

serve_routes::serve_routes(std::vector<std::unique_ptr<deployment>> const& deployments,
                           std::vector<std::string> urls, access_control access, event_feed const& feed,
                           serve_rules rules)
    : deployments_{deployments},
      urls_{std::move(urls)},
      access_{std::move(access)},
      feed_{feed},
      rules_{std::move(rules)} {}

deployment* serve_routes::chosen(http_request const& request) const {
  auto const id = request.parameter("deployment");
  for (auto const& each : deployments_) {
    if (!id || id->empty() || *id == each->id()) return each.get();
  }
  return nullptr;
}

void serve_routes::answer(http_request const& request, responder const& respond) {
  if (auto refused = access_.check_origin(request)) return respond(std::move(*refused));
  bool const reads = request.method == "GET" || request.method == "HEAD";
  if (!reads && request.method != "POST") {
    auto response = refuse(405, "only GET, HEAD and POST");
    response.headers.emplace_back("Allow", "GET, HEAD, POST");
    return respond(std::move(response));
  }
  // Without a token: whether it runs, and the page, which has no data in it.
  if (reads && request.path == "/healthz") return respond(text_answer("ok\n"));
  if (reads && request.path == "/readyz") return respond(readiness());
  if (reads) {
    if (auto file = page(request.path)) return respond(std::move(*file));
  }
  if (auto refused = access_.refuse_to_try(request, boot_time())) return respond(std::move(*refused));
  if (!reads && request.path == login_path) return respond(log_in(request));
  auto const by = access_.recognize(request, boot_time());
  if (!by) return respond(access_.refuse_token(request, boot_time()));
  if (!reads) return post(request, *by, respond);
  answer_visitor(request, *by, respond);
}

void serve_routes::answer_visitor(http_request const& request, visitor const& by, responder const& respond) {
  if (request.path == "/metrics") return respond(metrics());
  if (!request.path.starts_with(api)) return respond(not_there());
  answer_api(request, by, respond);
}

void serve_routes::answer_api(http_request const& request, visitor const& by, responder const& respond) {
  std::string_view const path = std::string_view{request.path}.substr(api.size());
  if (path == "session") {
    json object;
    object.set("version", HOLDFAST_VERSION_STRING).set_unless_empty("user", by.user);
    object.set_unless_empty("csrf", by.csrf).set("allow_release", rules_.allow_release);
    return respond(answer_with(object.set("tokens", access_.asks_for_tokens()).line()));
  }
  if (path == "deployments") return respond(answer_with(deployments_json()));
  auto* const of = chosen(request);
  if (of == nullptr) return respond(refuse(404, "there is no such deployment; see /api/v1/deployments"));
  if (path == "events") return respond(events(request));
  if (path == "locks") return respond(list(request));
  if (path == "processes") return respond(answer_with(processes_json(*of)));
  if (path == "blocking") {
    return of->ask(
        "blocking", fresh_blocking, [of](client& redis) { return blocking_json(*of, redis); }, respond);
  }
  if (path == "deadlocks") {
    // On etcd no keys say what threads wait for.
    auto const work = [of](client& redis) {
      return deadlocks_json(redis.url(),
                            of->on_etcd() ? std::vector<deadlock_info>{} : find_deadlocks(redis));
    };
    return of->ask("deadlocks", fresh_deadlocks, work, respond);
  }
  if (path == "findings") {
    for (std::size_t i = 0; i != deployments_.size(); ++i) {
      if (deployments_[i].get() == of) return examine(i, fresh_findings, respond);
    }
  }
  if (path == "inspect" || path.starts_with("locks/")) return answer_lock(request, path, by, respond);
  respond(not_there());
}

void serve_routes::answer_lock(http_request const& request, std::string_view path, visitor const&,
                               responder const& respond) {
  auto* of = chosen(request);
  std::string name;
  if (path == "inspect") {
    name = request.parameter("name").value_or("");
    if (name.empty()) return respond(refuse(400, "name: say which lock"));
  } else {
    path.remove_prefix(std::string_view{"locks/"}.size());
    for (auto const& each : deployments_) {
      each->with_store([&](lock_store const& store) {
        auto const* const found = store.find(path);
        if (found == nullptr) return;
        name = found->state.name;
        of = each.get();
      });
    }
    if (name.empty()) return respond(refuse(404, "nobody holds that lock or waits for it now"));
  }
  auto key = "lock " + name;
  of->ask(
      std::move(key), fresh_lock,
      [of, name = std::move(name)](client& redis) { return lock_json(*of, redis, name); }, respond);
}

/// A page gets them until its session is over.
http_response serve_routes::events(http_request const& request) {
  auto const missed = feed_.since(request.header("last-event-id"));
  auto response = answer_with(missed.text, "text/event-stream");
  response.events_after = missed.newest;
  http_request by;
  for (std::string const name : {"authorization", "cookie", "host"})
    by.headers.emplace(name, request.header(name));
  response.allowed = [this, by = std::move(by)] { return access_.recognize(by, boot_time()).has_value(); };
  return response;
}

http_response serve_routes::list(http_request const& request) {
  auto const now = boot_time();
  if (auto const found = lists_.find(request.query);
      found != lists_.end() && now - found->second.first < fresh_list)
    return {.body = found->second.second};
  lock_filter filter;
  filter.text = request.parameter("q").value_or("");
  filter.kind = request.parameter("kind").value_or("");
  filter.wire = request.parameter("wire").value_or("");
  filter.waited_for = request.parameter("waiting") == "1";
  filter.by = order_of(request.parameter("sort").value_or(""));
  auto response = answer_with(list_json(*chosen(request), filter, number_of(request, "offset", 0),
                                        std::min(number_of(request, "limit", usually_listed), most_listed)));
  std::erase_if(lists_, [now](auto const& each) { return now - each.second.first >= fresh_list; });
  if (lists_.size() >= most_lists) lists_.clear();
  // To make a long one may take longer than it is fresh.
  lists_.insert_or_assign(request.query, std::pair{boot_time(), response.body});
  return response;
}

void serve_routes::post(http_request const& request, visitor const& by, responder const& respond) {
  if (!access_control::is_meant(request, by)) {
    return respond(refuse(403,
                          "an act needs `Content-Type: application/json`, and from a browser the header "
                          "X-Holdfast-Csrf with what /api/v1/session says"));
  }
  if (request.path == "/api/v1/logout") {
    auto response = answer_with("{}");
    response.headers.emplace_back("Set-Cookie", access_.log_out(request));
    if (server_ != nullptr) server_->end_streams();
    return respond(std::move(response));
  }
  constexpr std::string_view before = "/api/v1/locks/";
  constexpr std::string_view after = "/release";
  std::string_view id = request.path;
  if (!id.starts_with(before) || !id.ends_with(after) || id.size() < before.size() + after.size())
    return respond(not_there());
  id = id.substr(before.size(), id.size() - before.size() - after.size());
  release(request, id, by, respond);
}

void serve_routes::release(http_request const& request, std::string_view const id, visitor const& by,
                           responder const& respond) {
  if (!rules_.allow_release) return respond(refuse(403, "it only looks: start it with --allow-release"));
  auto const owner = text_in(request.body, "owner");
  if (!owner || owner->empty()) return respond(refuse(400, "owner: say whose hold, by the owner id"));
  for (auto const& each : deployments_) {
    auto const found = each->with_store([&](lock_store const& store) {
      auto const* const entry = store.find(id);
      return entry == nullptr ? std::pair{std::string{}, wire::plain}
                              : std::pair{entry->state.name, entry->state.wire};
    });
    if (found.first.empty()) continue;
    auto const work = [of = each.get(), found, owner = *owner,
                       act = act_by{by.user, request.peer}](client& redis) {
      auto text = release_by_force(redis, found.first, found.second, owner, act);
      of->look_soon(found.first);
      return text;
    };
    return each->ask_slowly({}, 0ms, work, respond);
  }
  respond(refuse(404, "nobody holds that lock now"));
}

/// Keeps what it has found for the metrics.
void serve_routes::examine(std::size_t const number, std::chrono::milliseconds const fresh,
                           responder respond) {
  auto const& of = *deployments_[number];
  auto const work = [this, id = of.id(), url = urls_[number]](client&) {
    probe::named_servers const servers{url};
    auto const found = examine_deployment(servers, {});
    fitness now{.findings = {{"problem", 0}, {"warning", 0}, {"advice", 0}, {"ok", 0}}};
    for (auto const& each : found.findings) ++now.findings[std::string{to_string(each.level)}];
    std::lock_guard const hold{mutex_};
    fitness_[id] = std::move(now);
    return report_json(servers.url(), found.findings);
  };
  deployments_[number]->ask_slowly("findings", fresh, work, std::move(respond));
}

http_response serve_routes::log_in(http_request const& request) {
  if (!request.header("content-type").starts_with("application/json"))
    return refuse(400, "that needs `Content-Type: application/json`");
  auto const token = text_in(request.body, "token");
  auto const cookie = token ? access_.log_in(request, *token, boot_time()) : std::nullopt;
  if (!cookie) return access_.refuse_token(request, boot_time());
  auto response = answer_with("{}");
  response.headers.emplace_back("Set-Cookie", *cookie);
  return response;
}

http_response serve_routes::metrics() {
  std::map<std::string, fitness> known;
  bool examine_again = false;
  {
    std::lock_guard const hold{mutex_};
    known = fitness_;
    examine_again = examined_ == 0ns || boot_time() - examined_ > examine_interval;
    if (examine_again) examined_ = boot_time();
  }
  if (examine_again) {
    for (std::size_t i = 0; i != deployments_.size(); ++i)
      examine(i, fresh_findings, [](http_response const&) {});
  }
  return answer_with(metrics_text(deployments_, known, server_ == nullptr ? http_facts{} : server_->facts(),
                                  access_, rules_.long_hold),
                     "text/plain; version=0.0.4; charset=utf-8");
}

http_response serve_routes::readiness() const {
  for (auto const& each : deployments_) {
    auto const now = each->now();
    if (now.reachable && now.searched) continue;
    auto response = text_answer(
        fmt::format("{}: {}\n", each->id(), now.reachable ? "not searched yet" : "not reachable"));
    response.status = 503;
    return response;
  }
  return text_answer("ready\n");
}

std::string serve_routes::deployments_json() const {
  auto list = json::list();
  for (auto const& each : deployments_) {
    auto const now = each->now();
    lock_store::totals all;
    each->with_store([&](lock_store const& store) {
      for (auto const& group : store.count(boot_time(), rules_.long_hold)) {
        all.held += group.held;
        all.waited_for += group.waited_for;
        all.waiting += group.waiting;
        all.long_holds += group.long_holds;
      }
    });
    json object;
    object.set("id", each->id()).set("url", each->url()).set("reachable", now.reachable);
    object.set("searched", now.searched).set("since", utc_text(now.since));
    object.set_unless_empty("trouble", now.trouble).set_unless_empty("left_out", now.left_out);
    object.set("held", all.held).set("waited_for", all.waited_for).set("waiting", all.waiting);
    list.add(std::move(object.set("long_holds", all.long_holds)));
  }
  return json{}.set("deployments", std::move(list)).line();
}

}  // namespace holdfast::cli
