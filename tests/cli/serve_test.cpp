// What `holdfast serve` shows: JSON, events, metrics, the page.
#include "serve_fixture.hpp"
#include "support/eventually.hpp"

#include <gmock/gmock.h>

#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <regex>
#include <set>
#include <string>
#include <utility>

namespace {

using namespace holdfast::test;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr auto rival = "22222222-2222-4333-8444-555555555555:1";

class serve : public serve_fixture {
 protected:
  std::string id_of(std::string const& name) {
    auto const list = list_of(1, "?q=" + name);
    return list.value("count", 0) == 1 ? list["locks"][0].value("id", "") : "";
  }
};

TEST_F(serve, lists_what_ls_lists) {
  hold("orders:1");
  hold("orders:2");
  hold("deploy");
  wait_for("orders:2", rival);
  open();
  auto const all = list_of(3);
  EXPECT_EQ(all["locks"][0]["name"], "orders:2") << "the one that is waited for comes first";
  EXPECT_EQ(list_of(2, "?q=orders:&limit=1")["locks"].size(), 1U);
  EXPECT_EQ(list_of(1, "?waiting=1")["locks"][0]["waiting"], 1);
  list_of(0, "?kind=permits");
  auto ls = holdfast_command({"ls", "--json", "deploy"}, {{"HOLDFAST_URL", server.url()}});
  ASSERT_EQ(ls.wait(), 0);
  auto wanted = nlohmann::json::parse(ls.out());
  auto found = list_of(1, "?q=deploy")["locks"][0];
  for (auto const& [key, value] : wanted.items()) EXPECT_TRUE(found.contains(key)) << key;
  for (auto* const each : {&wanted, &found}) {
    for (char const* const differs : {"id", "deployment", "seen_ms", "ttl_ms", "held_ms", "holders"})
      each->erase(differs);
  }
  EXPECT_EQ(found, wanted);
}

TEST_F(serve, finds_permits_that_are_out_for_longer_than_their_counter_lives) {
  redis.command({"ZADD", "slots", "-1", "holdfast_permits:3", "8000000000000", std::string{owner} + ":l"});
  redis.command({"PEXPIRE", "slots", "3153600000000"});
  open();
  auto found = list_of(1)["locks"][0];
  EXPECT_EQ(found["name"], "slots");
  EXPECT_TRUE(eventually([&] {
    auto const before = std::exchange(found, list_of(1)["locks"][0]);
    return found["seen_ms"] < before["seen_ms"];
  })) << "looked at again";
  EXPECT_EQ(found["ttl_ms"], nullptr);
}

TEST_F(serve, shows_a_lock_with_its_queue_and_who_had_it_before) {
  hold("deploy");
  open();
  auto const id = id_of("deploy");
  hold("deploy", rival);
  wait_for("deploy", "33333333-2222-4333-8444-555555555555:1");
  nlohmann::json lock;
  EXPECT_TRUE(eventually([&] {
    lock = get("/api/v1/locks/" + id).json();
    return lock["changes"].size() == 1 && lock["queue"].size() == 1;
  })) << lock;
  EXPECT_EQ(lock["holder"]["owner"], rival);
  EXPECT_EQ(lock["changes"][0]["event"], "handed_over");
  EXPECT_EQ(get("/api/v1/inspect?name=deploy").json()["id"], id);
  EXPECT_EQ(get("/api/v1/inspect?name=nobodys").json()["kind"], "free");
  auto const blocking = get("/api/v1/blocking").json();
  ASSERT_EQ(blocking["edges"].size(), 1U);
  EXPECT_EQ(blocking["edges"][0]["holder"]["owner"], rival);
  EXPECT_EQ(blocking["edges"][0]["preferred"], true) << "its ticket is from years ago";
  EXPECT_EQ(get("/api/v1/processes").json()["processes"][0]["holds"], 1);
}

TEST_F(serve, shows_an_election_as_one_when_its_leader_has_said_so) {
  hold("lead", owner);
  open();
  list_of(1, "?kind=exclusive");
  redis.command({"HSET", "{lead}:holdfast_leader", "owner", owner, "term", "7", "value", "web-3:80"});
  auto const lead = list_of(1, "?kind=election")["locks"][0];
  EXPECT_EQ(lead["leads"]["value"], "web-3:80");
  EXPECT_EQ(lead["leads"]["term"], 7);
  EXPECT_EQ(lead["kind"], "exclusive");
  list_of(0, "?kind=exclusive");
}

TEST_F(serve, names_each_reader_that_a_writer_waits_for) {
  constexpr auto late = "9999999999999";
  redis.command({"SET", "config", "holdfast_readers", "PX", "600000"});
  auto const reader = [](std::string const& id) { return id + ":r"; };
  redis.command({"ZADD", "{config}:holdfast_readers", late, reader(owner), late, reader(rival)});
  wait_for("config", "33333333-2222-4333-8444-555555555555:1");
  redis.command({"SET", "foreign", "of another library", "PX", "600000"});
  redis.command({"SET", token_key("foreign"), "1"});
  wait_for("foreign", rival);
  open();
  list_of(2, "?waiting=1");
  auto const blocking = get("/api/v1/blocking").json();
  ASSERT_EQ(blocking["locks"].size(), 2U) << blocking;
  for (auto const& lock : blocking["locks"]) {
    std::set<std::string> holders;
    for (auto const& each : lock["holders"]) holders.insert(each["owner"]);
    if (lock["kind"] == "read_write") {
      EXPECT_EQ(holders, (std::set<std::string>{owner, rival}));
    } else {
      EXPECT_EQ(holders, std::set<std::string>{"of another library"});
    }
  }
}

TEST_F(serve, shows_owners_without_an_id_as_such) {
  constexpr auto late = "9999999999999";
  redis.command({"SET", "read", "holdfast_readers", "PX", "600000"});
  redis.command({"ZADD", "{read}:holdfast_readers", late, ":r", late, std::string{owner} + ":r"});
  redis.command({"ZADD", "{read}:holdfast_queue", "1", "", "2", rival});
  open();
  auto const id = list_of(1)["locks"][0]["id"].get<std::string>();
  auto const lock = get("/api/v1/locks/" + id).json();
  for (auto const& list : {lock["holders"], lock["queue"]}) {
    ASSERT_EQ(list.size(), 2U) << lock;
    EXPECT_TRUE(std::ranges::any_of(list, [](auto const& each) { return each.at("owner") == ""; })) << list;
  }
  EXPECT_EQ(get("/api/v1/processes").json()["processes"].size(), 1U) << "it is no process";
  auto const blocking = get("/api/v1/blocking").json();
  EXPECT_EQ(blocking["locks"][0]["holders"].size(), 1U) << blocking;
  EXPECT_EQ(blocking["edges"].size(), 2U) << blocking;
}

TEST_F(serve, tells_how_long_holds_and_waits_have_lasted) {
  hold("deploy");
  // A token is the server's clock, which tells since when the lock is held.
  redis.command(
      {"EVAL",
       "local now = redis.call('TIME') redis.call('SET', KEYS[1], now[1] .. string.format('%06d', now[2]))",
       "1", token_key("deploy")});
  wait_for("deploy", rival);
  open();
  auto const id = list_of(1, "?waiting=1")["locks"][0].value("id", "");
  redis.command({"EVAL",
                 "redis.call('ZREM', KEYS[2], ARGV[1]) redis.call('SET', KEYS[1], ARGV[1], 'PX', 600000)",
                 "2", "deploy", "{deploy}:holdfast_queue", rival});
  EXPECT_TRUE(eventually([&] {
    auto const times = get("/api/v1/locks/" + id).json()["times"];
    return times.size() == 1 && times[0]["waits"]["count"] == 1 && times[0]["holds"]["count"] == 1;
  })) << get("/api/v1/locks/" + id).body;
}

TEST_F(serve, tells_open_pages_what_changes_and_what_they_have_missed) {
  hold("deploy");
  open();
  list_of(1);
  http_connection stream{port};
  stream.send(http_request_text(port, "GET", "/api/v1/events"));
  ASSERT_TRUE(stream.gets("event: reset"));
  hold("deploy", rival);
  ASSERT_TRUE(stream.gets("\"event\":\"handed_over\"")) << stream.received();
  // The last but one event is known, so the last one comes again, and not all.
  std::smatch number;
  auto const text = stream.received();
  ASSERT_TRUE(std::regex_search(text, number, std::regex{"id: ([0-9a-f]+)-([0-9]+)\nevent: locks"}));
  auto const before = number[1].str() + "-" + std::to_string(std::stoi(number[2]) - 1);
  http_connection again{port};
  again.send(http_request_text(port, "GET", "/api/v1/events", "Last-Event-ID: " + before + "\r\n"));
  EXPECT_TRUE(again.gets("\"event\":\"handed_over\""));
  EXPECT_THAT(again.received(), Not(HasSubstr("event: reset")));
  http_connection stranger{port};
  stranger.send(http_request_text(port, "GET", "/api/v1/events", "Last-Event-ID: another-1\r\n"));
  EXPECT_TRUE(stranger.gets("event: reset"));
}

TEST_F(serve, sees_locks_that_come_and_go) {
  redis.command({"HSET", "java", "44444444-2222-4333-8444-555555555555:7", "1"});
  redis.command({"PEXPIRE", "java", "600000"});
  open();
  EXPECT_EQ(list_of(1, "?wire=redisson")["locks"][0]["kind"], "reentrant");
  hold("late");
  list_of(1, "?wire=plain");
  redis.del("late");
  list_of(0, "?wire=plain");
  redis.del("java");
  list_of(0);
}

TEST_F(serve, shows_the_last_state_while_redis_is_away) {
  hold("deploy");
  open();
  auto const id = id_of("deploy");
  server.stop();
  nlohmann::json now;
  ASSERT_TRUE(eventually(40s, [&] {
    now = get("/api/v1/deployments").json()["deployments"][0];
    return now["reachable"] == false;
  }));
  EXPECT_THAT(now["trouble"].get<std::string>(), HasSubstr("cannot reach"));
  EXPECT_EQ(list_of(1)["locks"][0]["name"], "deploy");
  EXPECT_TRUE(eventually(40s, [&] { return get("/api/v1/locks/" + id).json().contains("error"); }));
  EXPECT_EQ(get("/readyz").status, 503);
  EXPECT_EQ(get("/healthz").status, 200);
  server.start();
  EXPECT_TRUE(eventually(40s, [&] { return get("/readyz").status == 200; }));
}

TEST_F(serve, begins_without_redis) {
  closed_port const nobody;
  open({"--url", "redis://127.0.0.1:" + std::to_string(nobody.number())});
  EXPECT_TRUE(eventually(40s, [&] {
    auto const trouble = get("/api/v1/deployments").json()["deployments"][0]["trouble"];
    return trouble.is_string() && trouble.get<std::string>().find("cannot reach") != std::string::npos;
  }));
}

TEST_F(serve, says_which_right_is_missing) {
  hold("deploy");
  redis.command({"ACL", "SETUSER", "default", "-scan"});
  open();
  EXPECT_TRUE(eventually([&] {
    auto const now = get("/api/v1/deployments").json()["deployments"][0];
    return now["reachable"] == true && now["left_out"].is_string() &&
           now["left_out"].get<std::string>().find("+scan") != std::string::npos;
  })) << get("/api/v1/deployments").body;
  EXPECT_EQ(get("/readyz").status, 503);
}

TEST_F(serve, shows_names_of_any_bytes_without_harm) {
  std::string const evil = "a\"b</script><img src=x>\x1b[2J\x07\n\xff\xe2\x80\xae";
  hold(evil);
  hold(std::string(65'536, 'x'));
  open();
  list_of(2);
  auto const text = get("/api/v1/locks?sort=name").body;
  for (char const* const harm : {"\x1b", "\x07", "\xff", "\xe2\x80\xae"})
    EXPECT_THAT(text, Not(HasSubstr(harm)));
  auto const locks = nlohmann::json::parse(text)["locks"];
  for (auto const& lock : locks) {
    auto const whole =
        get("/api/v1/locks/" + lock["id"].get<std::string>()).json()["name"].get<std::string>();
    EXPECT_EQ(lock["name"], whole.substr(0, 1'024)) << "lists have the beginning of long ones";
  }
}

TEST_F(serve, shows_several_deployments) {
  redis_server other;
  other.raw().command({"SET", "elsewhere", rival, "PX", "600000"});
  other.raw().command({"SET", token_key("elsewhere"), "1"});
  hold("here");
  open({"--url", server.url(), "--url", other.url()});
  EXPECT_EQ(list_of(1, "?deployment=d0")["locks"][0]["name"], "here");
  EXPECT_EQ(list_of(1, "?deployment=d1")["locks"][0]["name"], "elsewhere");
  EXPECT_EQ(get("/api/v1/locks?deployment=d2").status, 404);
}

TEST_F(serve, counts_locks_by_prefixes_and_nothing_else) {
  hold("orders:1");
  hold("orders:\"2\"");
  hold("secret");
  open({"--metrics-prefix", "orders:", "--metrics-prefix", "or\"d", "--long-hold", "1ms"});
  list_of(3);
  auto const answer = get("/metrics");
  EXPECT_EQ(answer.header("Content-Type"), "text/plain; version=0.0.4; charset=utf-8");
  EXPECT_THAT(answer.body, AllOf(HasSubstr(",prefix=\"orders:\"} 2\n"), HasSubstr(",prefix=\"or\\\"d\"} 0\n"),
                                 HasSubstr(",prefix=\"\"} 1\n"), HasSubstr("holdfast_serve_up{"),
                                 Not(HasSubstr("secret"))));
  // Each line is a comment or a sample.
  std::regex const line{
      "# (HELP|TYPE) [a-z_]+ .*|[a-z_]+(\\{([a-z]+=\"([^\"\\\\]|\\\\.)*\",?)*\\})? [0-9.e+-]+"};
  std::istringstream lines{answer.body};
  for (std::string each; std::getline(lines, each);) EXPECT_TRUE(std::regex_match(each, line)) << each;
}

TEST_F(serve, has_a_page_that_loads_nothing_from_elsewhere) {
  open();
  auto const page_text = get("/");
  EXPECT_EQ(page_text.status, 200);
  EXPECT_THAT(page_text.header("Content-Security-Policy"),
              HasSubstr("default-src 'none'; script-src 'self'"));
  for (std::string const file : {"/app.js", "/style.css", "/openapi.json"}) {
    auto const answer = get(file);
    EXPECT_EQ(answer.status, 200) << file;
    EXPECT_THAT(answer.body, Not(HasSubstr("https://"))) << file;
  }
  EXPECT_THAT(page_text.body, AllOf(Not(HasSubstr("://")), Not(HasSubstr("style="))));
  EXPECT_EQ(get("/nothing").status, 404);
  EXPECT_EQ(get("/..%2f..%2fetc/passwd").status, 404);
}

TEST_F(serve, ends_cleanly_with_open_pages) {
  for (int const number : {SIGTERM, SIGINT}) {
    open();
    http_connection stream{port};
    stream.send(http_request_text(port, "GET", "/api/v1/events"));
    ASSERT_TRUE(stream.gets("event: reset"));
    page->signal(number);
    EXPECT_EQ(page->wait(), 0);
  }
}

TEST_F(serve, says_who_has_the_port) {
  open();
  auto second = holdfast_command({"serve", "--listen", "127.0.0.1:" + std::to_string(port)},
                                 {{"HOLDFAST_URL", server.url()}});
  EXPECT_EQ(second.wait(), 69);
  EXPECT_THAT(second.err(), AllOf(HasSubstr("is taken by holdfast (pid " + std::to_string(page->pid()))));
}

TEST_F(serve, listens_on_a_socket_that_the_service_manager_passes) {
  temporary_folder const folder;
  auto const notify = folder / "notify";
  int const manager = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  ASSERT_GE(manager, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::ranges::copy(notify, address.sun_path);
  ASSERT_EQ(bind(manager, reinterpret_cast<sockaddr const*>(&address), sizeof address), 0);
  // A shell can't listen, but it can pass a socket of Python's on.
  std::string const pass =
      "import os, socket, sys\n"
      "s = socket.socket(); s.bind(('127.0.0.1', 0)); s.listen()\n"
      "if s.fileno() != 3: os.dup2(s.fileno(), 3)\n"
      "os.set_inheritable(3, True)\n"
      "os.environ.update(LISTEN_FDS='1', LISTEN_PID=str(os.getpid()))\n"
      "os.execv(sys.argv[1], sys.argv[1:])\n";
  page.emplace(words{"python3", "-c", pass, HOLDFAST_CLI, "serve", "--listen", "127.0.0.1:1"},
               environment{{"HOLDFAST_URL", server.url()}, {"NOTIFY_SOCKET", notify}});
  std::array<char, 256> text{};
  EXPECT_TRUE(eventually([&] { return recv(manager, text.data(), text.size() - 1, MSG_DONTWAIT) > 0; }))
      << page->err();
  EXPECT_EQ(std::string{text.data()}, "READY=1");
  close(manager);
  std::smatch found;
  auto const said = page->err();
  ASSERT_TRUE(std::regex_search(said, found, std::regex{"http://127.0.0.1:([0-9]+)/"})) << said;
  port = static_cast<std::uint16_t>(std::stoi(found[1]));
  EXPECT_EQ(get("/healthz").body, "ok\n");
}

}  // namespace
