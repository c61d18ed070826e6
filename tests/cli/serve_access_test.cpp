// Whom `holdfast serve` lets do what, and what it survives.
#include "serve_fixture.hpp"
#include "support/eventually.hpp"

#include <holdfast/client.hpp>
#include <holdfast/mutex.hpp>

#include <gmock/gmock.h>

#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <csignal>
#include <deque>
#include <fstream>
#include <random>
#include <string>

namespace {

using namespace holdfast::test;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

std::string const anna_token = "anna-0123456789abcdef";

std::string bearer(std::string const& token) { return "Authorization: Bearer " + token + "\r\n"; }

class serve_access : public serve_fixture {
 protected:
  std::string token_file() {
    auto const path = folder / "tokens";
    std::ofstream{path} << "# who may visit\nanna " << anna_token << "\nben " << ben_token
                        << "  # on leave\n";
    chmod(path.c_str(), 0600);
    return path;
  }
  std::string id_of_first(std::string const& headers = {}) {
    std::string id;
    EXPECT_TRUE(eventually([&] {
      auto const locks = get("/api/v1/locks", headers).json();
      if (locks.value("count", 0) == 0) return false;
      id = locks["locks"][0]["id"];
      return true;
    }));
    return id;
  }
  int exit_code(words const& arguments, std::string& said, environment extra = {}) {
    extra.try_emplace("HOLDFAST_URL", server.url());
    words all{"serve"};
    all.insert(all.end(), arguments.begin(), arguments.end());
    auto command = holdfast_command(all, extra);
    auto const code = command.wait();
    said = command.err();
    return code;
  }
  temporary_folder folder;
};

TEST_F(serve_access, is_for_this_machine_unless_visitors_say_a_token) {
  std::string said;
  EXPECT_EQ(exit_code({"--listen", "0.0.0.0:0"}, said), 64);
  EXPECT_THAT(said, HasSubstr("give --token-file"));
  EXPECT_EQ(exit_code({"--listen", "[::]:0"}, said), 64);
  EXPECT_EQ(exit_code({"--listen", "127.0.0.1:0", "--url", server.url(), "--url", server.url()}, said), 64);
  EXPECT_THAT(said, HasSubstr("is given twice"));
  EXPECT_EQ(exit_code({"--listen", "here"}, said), 64);
  EXPECT_THAT(said, HasSubstr("\"here\" is no address"));
  EXPECT_EQ(exit_code({"--url", "redis+quorum://a,b,c"}, said), 64);
  EXPECT_EQ(exit_code({"--listen", "0.0.0.0:0"}, said, {{"HOLDFAST_SERVE_TOKEN", "short"}}), 64);
  EXPECT_THAT(said, HasSubstr("too short"));
  auto const path = token_file();
  chmod(path.c_str(), 0644);
  EXPECT_EQ(exit_code({"--token-file", path}, said), 64);
  EXPECT_THAT(said, HasSubstr("chmod o-r"));
}

TEST_F(serve_access, refuses_requests_that_the_page_of_another_site_makes) {
  open({"--host", "Locks.example"});
  auto const status = [&](std::string const& headers) { return get("/api/v1/session", headers).status; };
  EXPECT_EQ(status(""), 200);
  EXPECT_EQ(status("Host: localhost:80\r\n"), 200);
  EXPECT_EQ(status("Host: [::1]:80\r\n"), 200);
  EXPECT_EQ(status("Host: locks.example\r\n"), 200);
  EXPECT_EQ(status("Host: LOCKS.example\r\n"), 200);
  EXPECT_EQ(status("Host: rebound.example:" + std::to_string(port) + "\r\n"), 421);
  EXPECT_EQ(status("Host: \r\n"), 421);
  EXPECT_EQ(status("Host: rebound.example\r\nHost: 127.0.0.1\r\n"), 421);
  EXPECT_EQ(status("Origin: http://evil.example\r\n"), 403);
  EXPECT_EQ(status("Origin: null\r\n"), 403);
  EXPECT_EQ(status("Origin: http://127.0.0.1:" + std::to_string(port) + "\r\n"), 200);
  EXPECT_EQ(status("Sec-Fetch-Site: cross-site\r\n"), 403);
  EXPECT_EQ(get("/metrics", "Sec-Fetch-Site: cross-site\r\n").status, 403) << "which asks Redis now and then";
  EXPECT_EQ(get("/", "Sec-Fetch-Site: cross-site\r\n").status, 200) << "a link to it";
  EXPECT_EQ(http_exchange(port, http_request_text(port, "DELETE", "/api/v1/locks")).status, 405);
}

TEST_F(serve_access, knows_two_users_by_their_tokens) {
  hold("deploy");
  open({"--token-file", token_file()});
  for (std::string const path : {"/api/v1/locks", "/metrics", "/api/v1/events", "/api/v1/session"})
    EXPECT_EQ(get(path).status, 401) << path;
  EXPECT_EQ(get("/healthz").status, 200);
  EXPECT_EQ(get("/").status, 200);
  EXPECT_EQ(get("/api/v1/session", bearer(anna_token)).json()["user"], "anna");
  EXPECT_EQ(get("/api/v1/session", bearer(ben_token)).json()["user"], "ben");
  EXPECT_EQ(get("/api/v1/session", "Authorization: bearer " + ben_token + "\r\n").json()["user"], "ben");
  // A wrong one is counted, and answered slowly.
  auto const began = std::chrono::steady_clock::now();
  EXPECT_EQ(get("/metrics", bearer("anna-0123456789abcdeX")).status, 401);
  EXPECT_GE(std::chrono::steady_clock::now() - began, 900ms);
  EXPECT_THAT(get("/metrics", bearer(ben_token)).body, HasSubstr("holdfast_serve_wrong_tokens_total 1\n"));
  // A browser gets a cookie for it, which isn't the token.
  EXPECT_EQ(post("/api/v1/login", "", R"({"token":"nobody's"})").status, 401);
  auto const login = post("/api/v1/login", "", R"({"token":")" + anna_token + R"("})");
  EXPECT_EQ(login.status, 200);
  auto const cookie = login.header("Set-Cookie");
  EXPECT_THAT(cookie, AllOf(HasSubstr("HttpOnly; SameSite=Strict"), Not(HasSubstr(anna_token))));
  auto const sent = "Cookie: a=b; " + cookie.substr(0, cookie.find(';')) + "\r\n";
  auto const session = get("/api/v1/session", sent).json();
  EXPECT_EQ(session["user"], "anna");
  EXPECT_EQ(post("/api/v1/logout", sent, "{}").status, 403) << "without the word against forged requests";
  auto const meant = sent + "X-Holdfast-Csrf: " + session["csrf"].get<std::string>() + "\r\n";
  http_connection stream{port};
  stream.send(http_request_text(port, "GET", "/api/v1/events", sent));
  ASSERT_TRUE(stream.gets("event: reset"));
  EXPECT_EQ(post("/api/v1/logout", meant, "{}").status, 200);
  EXPECT_EQ(get("/api/v1/session", sent).status, 401);
  EXPECT_TRUE(eventually([&] { return stream.ended(); })) << "nor does it hear of events";
  EXPECT_THAT(page->err(), AllOf(Not(HasSubstr(anna_token)), Not(HasSubstr(ben_token))));
}

TEST_F(serve_access, only_looks_unless_it_may_release) {
  hold("deploy", owner);
  open();
  auto const id = id_of_first();
  auto const csrf = "X-Holdfast-Csrf: " + get("/api/v1/session").json()["csrf"].get<std::string>() + "\r\n";
  EXPECT_EQ(
      post("/api/v1/locks/" + id + "/release", csrf, std::string{R"({"owner":")"} + owner + "\"}").status,
      403);
  EXPECT_TRUE(redis.exists("deploy"));
}

TEST_F(serve_access, releases_by_force_what_was_meant_and_says_who_did_it) {
  holdfast::client client{server.url()};
  holdfast::mutex lock{client, "deploy"};
  auto const lease = lock.acquire();
  open({"--allow-release", "--token-file", token_file()});
  auto const id = id_of_first(bearer(anna_token));
  auto const path = "/api/v1/locks/" + id + "/release";
  auto const of = [](std::string const& who) { return R"({"owner":")" + who + "\"}"; };
  EXPECT_EQ(post(path, "", of(owner)).status, 401);
  EXPECT_EQ(post(path, bearer(anna_token), "{}").status, 400);
  EXPECT_EQ(post(path, bearer(anna_token), "no JSON").status, 400);
  EXPECT_EQ(http_exchange(port, http_request_text(port, "POST", path, bearer(anna_token), of(owner))).status,
            403)
      << "a form of another site can send that";
  EXPECT_EQ(post(path, bearer(anna_token), of(owner)).json()["result"], "changed")
      << "that owner doesn't hold it";
  EXPECT_TRUE(redis.exists("deploy"));
  EXPECT_EQ(post("/api/v1/locks/0123/release", bearer(anna_token), of(owner)).status, 404);
  EXPECT_EQ(get("/api/v1/locks/" + id, bearer(ben_token)).json()["holder"]["owner"], lease.owner());
  auto const released = post(path, bearer(anna_token), of(std::string{lease.owner()}));
  auto const left = get("/api/v1/locks/" + id, bearer(ben_token));
  EXPECT_THAT(left.body, Not(HasSubstr("\"holder\":{\"owner\":\"" + std::string{lease.owner()})))
      << "which was asked for a moment ago";
  EXPECT_EQ(released.status, 200) << released.body;
  EXPECT_THAT(page->err(), AllOf(HasSubstr("audit: \"anna\" at 127.0.0.1 releases \"deploy\" by force"),
                                 HasSubstr(": " + released.json().value("result", "none"))));
  EXPECT_TRUE(eventually([&] { return !redis.exists("deploy"); }));
}

TEST_F(serve_access, cuts_off_those_that_never_finish_a_request) {
  open();
  std::deque<http_connection> slow;
  for (int i = 0; i != 200; ++i) slow.emplace_back(port).send("GET /healthz HTTP/1.1\r\nHost: ");
  EXPECT_EQ(get("/healthz").status, 200) << "beside them";
  EXPECT_TRUE(eventually(40s, [&] {
    (void)slow.front().send("x");
    return slow.front().ended();
  })) << "after ten seconds, however often a byte comes";
  EXPECT_EQ(get("/healthz").status, 200);
}

TEST_F(serve_access, has_room_for_another_where_few_files_may_be_open) {
  page.emplace(words{"sh", "-c", "ulimit -n 100 && exec \"$@\"", "sh", HOLDFAST_CLI, "serve", "--listen",
                     "127.0.0.1:0"},
               environment{{"HOLDFAST_URL", server.url()}});
  await_port();
  std::deque<http_connection> idle;
  for (int i = 0; i != 150; ++i)
    idle.emplace_back(port).send("GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
  EXPECT_EQ(get("/healthz").status, 200);
}

/// Lets this process have as many open files as it may, while it lives.
class many_files {
 public:
  many_files() {
    getrlimit(RLIMIT_NOFILE, &before_);
    rlimit more{before_};
    more.rlim_cur = std::min<rlim_t>(more.rlim_max, 4'096);
    setrlimit(RLIMIT_NOFILE, &more);
    now_ = more.rlim_cur;
  }
  ~many_files() { setrlimit(RLIMIT_NOFILE, &before_); }
  many_files(many_files const&) = delete;
  many_files& operator=(many_files const&) = delete;
  [[nodiscard]] rlim_t now() const noexcept { return now_; }

 private:
  rlimit before_{};
  rlim_t now_ = 0;
};

TEST_F(serve_access, answers_beside_a_thousand_connections_that_say_nothing) {
  constexpr std::size_t crowd = 1'000;
  many_files const files;
  if (files.now() < 2 * crowd) GTEST_SKIP() << "so many files may not be open here";
  hold("deploy");
  open();
  list_of(1);
  auto const request = http_request_text(port, "GET", "/healthz");
  auto kept = request;
  kept.erase(kept.find("Connection: close\r\n"), std::string{"Connection: close\r\n"}.size());
  // Half of them have asked for something before.
  std::deque<http_connection> idle;
  for (std::size_t i = 0; i != crowd; ++i) {
    idle.emplace_back(port);
    if (i % 2 == 0) idle.back().send(kept);
  }
  EXPECT_TRUE(eventually([&] {
    return get("/metrics").body.find("holdfast_serve_connections " + std::to_string(crowd + 1) + "\n") !=
           std::string::npos;
  })) << get("/metrics").body;
  EXPECT_EQ(list_of(1)["locks"][0]["name"], "deploy");
  http_connection stream{port};
  stream.send(http_request_text(port, "GET", "/api/v1/events"));
  ASSERT_TRUE(stream.gets("event: reset"));
  hold("deploy", "22222222-2222-4333-8444-555555555555:1");
  EXPECT_TRUE(stream.gets("\"event\":\"handed_over\""));
  EXPECT_TRUE(idle.front().gets("ok\n"));
  EXPECT_TRUE(idle.front().send(request)) << "it wasn't closed for the others";
}

TEST_F(serve_access, says_nothing_of_what_is_in_keys_that_are_no_locks) {
  redis.command({"SET", "session:1", "somebody's password"});
  open();
  ASSERT_TRUE(eventually([&] { return get("/readyz").status == 200; }));
  auto const answer = get("/api/v1/inspect?name=session:1");
  EXPECT_EQ(answer.json()["kind"], "foreign");
  EXPECT_THAT(answer.body, Not(HasSubstr("password")));
  redis.command({"SET", "code:1", "482913"});
  auto const digits = get("/api/v1/inspect?name=code:1");
  EXPECT_EQ(digits.json()["kind"], "counter");
  EXPECT_THAT(digits.body, Not(HasSubstr("482913")));
}

TEST_F(serve_access, looks_at_few_tokens_of_an_address_that_was_wrong_often) {
  open({"--token-file", token_file()});
  auto const login = post("/api/v1/login", "", R"({"token":")" + anna_token + R"("})");
  ASSERT_EQ(login.status, 200);
  auto const cookie = login.header("Set-Cookie");
  auto const session = "Cookie: " + cookie.substr(0, cookie.find(';')) + "\r\n";
  // Each wrong one is answered after a second, so they come together.
  http_answer refused;
  EXPECT_TRUE(eventually(60s, [&] {
    std::deque<http_connection> tries;
    for (int i = 0; i != 30; ++i) {
      tries.emplace_back(port).send(http_request_text(port, "POST", "/api/v1/login",
                                                      "Content-Type: application/json\r\n",
                                                      R"({"token":"wrong-0123456789abcdef"})"));
    }
    for (auto& each : tries) {
      if (!eventually([&each] { return each.ended(); })) return false;
      if (auto answer = http_answer_in(each.received()); answer.status == 429) refused = std::move(answer);
    }
    return refused.status == 429;
  }));
  auto const wait = refused.header("Retry-After");
  ASSERT_FALSE(wait.empty()) << refused.head;
  EXPECT_THAT(std::stoi(wait), AllOf(testing::Ge(1), testing::Le(6)));
  EXPECT_THAT(refused.json().value("error", ""), HasSubstr("too many wrong tokens came from this address"));
  EXPECT_EQ(get("/api/v1/session", session).json()["user"], "anna") << "who has logged in goes on";
  EXPECT_EQ(get("/api/v1/session").status, 401) << "without a token nothing was tried";
  EXPECT_THAT(get("/metrics", session).body, Not(HasSubstr("holdfast_serve_refused_tokens_total 0\n")));
  EXPECT_THAT(page->err(), Not(HasSubstr("0123456789")));
}

TEST_F(serve_access, ends_though_visitors_wait_for_a_server_that_does_not_answer) {
  open();
  ASSERT_TRUE(eventually([&] { return get("/readyz").status == 200; }));
  server.freeze();
  std::deque<http_connection> waiting;
  for (int i = 0; i != 60; ++i) {
    waiting.emplace_back(port).send(
        http_request_text(port, "GET", "/api/v1/inspect?name=" + std::to_string(i)));
  }
  EXPECT_EQ(get("/healthz").status, 200) << "meanwhile";
  page->signal(SIGTERM);
  EXPECT_EQ(page->wait(60s), 0);
  server.thaw();
}

TEST_F(serve_access, refuses_what_is_too_long_and_what_is_no_http) {
  open();
  auto const status = [&](std::string const& text) { return http_exchange(port, text).status; };
  EXPECT_EQ(status("GET /" + std::string(20'000, 'x') + " HTTP/1.1\r\n\r\n"), 431);
  EXPECT_EQ(status("POST /api/v1/login HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 999999999\r\n\r\n"),
            413);
  EXPECT_EQ(status("\x16\x03\x01\x02\r\n\r\n"), 400);
  EXPECT_EQ(status("GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nContent-Length: x\r\n\r\n"),
            400);
  EXPECT_EQ(get("/api/v1/locks?q=%zz").status, 200);
  EXPECT_EQ(get("/api/v1/locks?limit=-1&offset=99999999999999999999").status, 200);
}

TEST_F(serve_access, hears_out_what_it_has_refused_so_that_the_answer_arrives) {
  open();
  std::string const body(524'288, 'x');
  http_connection connection{port};
  EXPECT_TRUE(connection.send(http_request_text(port, "POST", "/api/v1/login", {}, body)));
  EXPECT_TRUE(connection.gets("HTTP/1.1 413 ")) << connection.received();
  EXPECT_TRUE(eventually([&] { return connection.ended(); }));
  // But not for ever.
  http_connection endless{port};
  EXPECT_TRUE(
      endless.send("POST /api/v1/login HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 999999999\r\n\r\n"));
  EXPECT_TRUE(eventually(40s, [&] { return !endless.send("x"); }));
}

TEST_F(serve_access, survives_whatever_bytes_come) {
  open();
  auto const seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random{seed};
  std::string const sound = http_request_text(port, "GET", "/api/v1/locks?q=a%20b&limit=3",
                                              "Cookie: a=b; c\r\nLast-Event-ID: 1-2\r\n");
  for (int i = 0; i != 200; ++i) {
    auto text = sound;
    for (auto left = random() % 8; left > 0; --left) {
      auto const place = random() % text.size();
      switch (random() % 3) {
        case 0:
          text[place] = static_cast<char>(random());
          break;
        case 1:
          text.erase(place, random() % 8);
          break;
        default:
          text.insert(place, text.substr(random() % text.size(), random() % 32));
      }
      if (text.empty()) text = "\r\n";
    }
    http_connection connection{port};
    connection.send(text);
  }
  EXPECT_EQ(get("/healthz").status, 200);
}

}  // namespace
