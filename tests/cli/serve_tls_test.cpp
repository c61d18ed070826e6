// `holdfast serve` with TLS, and with certificates of its visitors.
#include "https_visitor.hpp"
#include "serve_fixture.hpp"
#include "support/eventually.hpp"

#include <gmock/gmock.h>

#include <sys/stat.h>

#include <csignal>
#include <fstream>
#include <string>

namespace {

using namespace holdfast::test;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class serve_tls : public serve_fixture {
 protected:
  serve_tls() {
    // Two authorities; the server, and people of each.
    std::string const script =
        "set -e; cd " + folder.path().string() +
        R"(; make() { openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 "$@"; }
for ca in ca other; do make -subj "/CN=$ca" -keyout $ca.key -out $ca.crt; done
for pair in 'server ca' 'anna ca' 'ben ca' 'eve other'; do
  set -- $pair
  make -CA $2.crt -CAkey $2.key -subj "/O=Holdfast/CN=$1" -addext subjectAltName=IP:127.0.0.1 -keyout $1.key -out $1.crt
done
openssl ec -in server.key -aes128 -passout pass:secret -out locked.key
chmod o-r *.key
cp server.key open.key
chmod o+r open.key)";
    process made{{"sh", "-c", script}};
    EXPECT_EQ(made.wait(), 0) << made.err();
    std::ofstream{folder / "tokens"} << "ben " << ben_token << "\n";
    chmod((folder / "tokens").c_str(), 0600);
  }

  [[nodiscard]] words tls(words const& more = {}) const {
    words options{"--tls-cert", folder / "server.crt", "--tls-key", folder / "server.key"};
    options.insert(options.end(), more.begin(), more.end());
    return options;
  }
  [[nodiscard]] words certified(words const& more = {}) const {
    auto options = tls({"--client-ca", folder / "ca.crt"});
    options.insert(options.end(), more.begin(), more.end());
    return options;
  }
  [[nodiscard]] tls_identity nobody() const { return {.ca = folder / "ca.crt"}; }
  [[nodiscard]] tls_identity who(std::string const& name) const {
    return {
        .ca = folder / "ca.crt", .certificate = folder / (name + ".crt"), .key = folder / (name + ".key")};
  }
  http_answer get(tls_identity const& as, std::string const& target, std::string const& headers = {}) const {
    return https_exchange(port, as, http_request_text(port, "GET", target, headers));
  }
  http_answer post(tls_identity const& as, std::string const& target, std::string const& headers,
                   std::string const& body) const {
    return https_exchange(
        port, as,
        http_request_text(port, "POST", target, "Content-Type: application/json\r\n" + headers, body));
  }
  std::string refusal(words options, std::string const& address = "127.0.0.1:0") {
    options.insert(options.begin(), {"serve", "--listen", address});
    auto command = holdfast_command(options, {{"HOLDFAST_URL", server.url()}});
    EXPECT_EQ(command.wait(), 64) << command.err();
    return command.err();
  }

  temporary_folder folder;
};

TEST_F(serve_tls, refuses_files_that_it_cannot_use) {
  auto const certificate = folder / "server.crt";
  auto const with_key = [&](std::string const& key) {
    return refusal({"--tls-cert", certificate, "--tls-key", folder / key});
  };
  EXPECT_THAT(refusal({"--tls-cert", certificate}), HasSubstr("give its key, too, with --tls-key"));
  EXPECT_THAT(refusal({"--tls-key", folder / "server.key"}), HasSubstr("too, with --tls-cert"));
  EXPECT_THAT(refusal({"--client-ca", certificate}), HasSubstr("give --tls-cert and --tls-key, too"));
  EXPECT_THAT(with_key("open.key"), HasSubstr("chmod o-r"));
  EXPECT_THAT(with_key("none.key"), HasSubstr("--tls-key: " + folder / "none.key" + " is no key"));
  EXPECT_THAT(with_key("anna.key"), HasSubstr("key values mismatch"));
  EXPECT_THAT(with_key("locked.key"), HasSubstr("without a passphrase"));
  EXPECT_THAT(refusal({"--tls-cert", folder / "server.key", "--tls-key", folder / "server.key"}),
              HasSubstr("is no certificate in PEM format"));
  EXPECT_THAT(refusal(tls({"--client-ca", folder / "server.key"})), HasSubstr("--client-ca: "));
  EXPECT_THAT(refusal(tls(), "0.0.0.0:0"), HasSubstr("or --client-ca with"));
  EXPECT_THAT(refusal(certified({"--url", server.url(), "--url", server.url()}), "0.0.0.0:0"),
              HasSubstr("is given twice"))
      << "who may listen there, but not so";
}

TEST_F(serve_tls, speaks_tls_alone) {
  hold("deploy");
  open(tls({"--token-file", folder / "tokens"}));
  std::string const ben = "Authorization: Bearer " + ben_token + "\r\n";
  EXPECT_EQ(get(nobody(), "/").status, 200);
  EXPECT_EQ(get(nobody(), "/api/v1/session").status, 401);
  EXPECT_EQ(get(nobody(), "/api/v1/session", ben).json()["user"], "ben");
  EXPECT_THAT(post(nobody(), "/api/v1/login", "", R"({"token":")" + ben_token + "\"}").header("Set-Cookie"),
              HasSubstr("; Secure"));
  auto const from = [&](std::string const& scheme) {
    return get(nobody(), "/", "Origin: " + scheme + "://127.0.0.1:" + std::to_string(port) + "\r\n").status;
  };
  EXPECT_EQ(from("https"), 200);
  EXPECT_EQ(from("http"), 403) << "anybody on the way can make such a page";
  https_connection stream{port, nobody()};
  stream.send(http_request_text(port, "GET", "/api/v1/events", ben));
  EXPECT_TRUE(stream.gets("event: reset"));
  EXPECT_EQ(http_exchange(port, http_request_text(port, "GET", "/healthz")).status, 0) << "without TLS";
  EXPECT_THAT(get(nobody(), "/metrics", ben).body, HasSubstr("holdfast_serve_failed_handshakes_total 1\n"));
  auto const long_body = post(nobody(), "/api/v1/login", "", std::string(100'000, 'x'));
  EXPECT_EQ(long_body.status, 413);
}

TEST_F(serve_tls, lets_in_those_with_a_certificate_and_says_who_did_what) {
  hold("deploy", owner);
  open(certified({"--allow-release"}));
  EXPECT_EQ(get(nobody(), "/healthz").status, 0);
  EXPECT_EQ(get(who("eve"), "/healthz").status, 0) << "of another authority";
  EXPECT_EQ(get(who("ben"), "/api/v1/session").json()["user"], "ben");
  auto const session = get(who("anna"), "/api/v1/session").json();
  EXPECT_EQ(session["user"], "anna");
  std::string id;
  EXPECT_TRUE(eventually([&] {
    auto const list = get(who("anna"), "/api/v1/locks").json();
    if (list.value("count", 0) == 1) id = list["locks"][0]["id"];
    return !id.empty();
  }));
  auto const body = std::string{R"({"owner":")"} + owner + "\"}";
  auto const path = "/api/v1/locks/" + id + "/release";
  EXPECT_EQ(post(who("anna"), path, "", body).status, 403)
      << "a browser sends its certificate by itself, so it has to say that it means it";
  auto const meant = "X-Holdfast-Csrf: " + session["csrf"].get<std::string>() + "\r\n";
  EXPECT_EQ(post(who("anna"), path, meant, body).status, 200);
  EXPECT_THAT(page->err(), HasSubstr("audit: \"anna\" at 127.0.0.1 releases \"deploy\" by force"));
}

TEST_F(serve_tls, asks_for_a_token_beside_the_certificate_where_there_are_both) {
  open(certified({"--token-file", folder / "tokens"}));
  std::string const ben = "Authorization: Bearer " + ben_token + "\r\n";
  EXPECT_EQ(get(nobody(), "/api/v1/session", ben).status, 0);
  EXPECT_EQ(get(who("anna"), "/api/v1/session").status, 401);
  EXPECT_EQ(get(who("anna"), "/api/v1/session", ben).json()["user"], "ben");
  page->signal(SIGTERM);
  EXPECT_EQ(page->wait(), 0);
  EXPECT_THAT(page->err(), Not(HasSubstr(ben_token)));
}

TEST_F(serve_tls, cuts_off_those_that_never_finish_a_handshake) {
  open(tls());
  http_connection silent{port};
  http_connection slow{port};
  EXPECT_TRUE(slow.send("\x16\x03\x01\x02"));  // the beginning of a ClientHello
  EXPECT_EQ(get(nobody(), "/healthz").status, 200) << "beside them";
  EXPECT_TRUE(eventually(40s, [&] { return silent.ended() && slow.ended(); }));
  EXPECT_EQ(get(nobody(), "/healthz").status, 200);
}

}  // namespace
