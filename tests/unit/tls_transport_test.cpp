// TLS between two ends in this thread, with certificates made by the test.
#include <gmock/gmock.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <stdlib.h>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/write.hpp>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <holdfast/error.hpp>
#include <memory>
#include <optional>

#include "net/make_transport.hpp"
#include "support/transport_test.hpp"

namespace {

using namespace std::chrono_literals;
namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;
using holdfast::net::make_transport;
using holdfast::net::parse_url;
using holdfast::net::transport;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

template <class Write>
std::string to_pem(Write write) {
  std::unique_ptr<BIO, decltype(&::BIO_free)> const memory{::BIO_new(::BIO_s_mem()), ::BIO_free};
  write(memory.get());
  char* data = nullptr;
  auto const size = ::BIO_get_mem_data(memory.get(), &data);
  return {data, static_cast<std::size_t>(size)};
}

/// A self-signed certificate for `names` ("DNS:localhost,IP:127.0.0.1"), and its key.
struct identity {
  explicit identity(char const* names) {
    std::unique_ptr<EVP_PKEY, decltype(&::EVP_PKEY_free)> const pair{::EVP_EC_gen("P-256"), ::EVP_PKEY_free};
    std::unique_ptr<X509, decltype(&::X509_free)> const x509{::X509_new(), ::X509_free};
    ::X509_set_version(x509.get(), X509_VERSION_3);
    ::ASN1_INTEGER_set(::X509_get_serialNumber(x509.get()), 1);
    ::X509_gmtime_adj(::X509_getm_notBefore(x509.get()), -60);
    ::X509_gmtime_adj(::X509_getm_notAfter(x509.get()), 3600);
    ::X509_set_pubkey(x509.get(), pair.get());
    auto* const subject = ::X509_get_subject_name(x509.get());
    auto const* const name = reinterpret_cast<unsigned char const*>("holdfast test");
    ::X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, name, -1, -1, 0);
    ::X509_set_issuer_name(x509.get(), subject);
    std::unique_ptr<X509_EXTENSION, decltype(&::X509_EXTENSION_free)> const alternatives{
        ::X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, names), ::X509_EXTENSION_free};
    ::X509_add_ext(x509.get(), alternatives.get(), -1);
    ::X509_sign(x509.get(), pair.get(), ::EVP_sha256());
    cert = to_pem([&](BIO* output) { ::PEM_write_bio_X509(output, x509.get()); });
    key = to_pem([&](BIO* output) {
      ::PEM_write_bio_PrivateKey(output, pair.get(), nullptr, nullptr, 0, nullptr, nullptr);
    });
    auto const* const phrase = reinterpret_cast<unsigned char const*>("phrase");
    locked_key = to_pem([&](BIO* output) {
      ::PEM_write_bio_PrivateKey(output, pair.get(), ::EVP_aes_128_cbc(), phrase, 6, nullptr, nullptr);
    });
  }

  std::string cert;
  std::string key;
  std::string locked_key;
};

struct tls_transport : holdfast::test::transport_test {
  using server_stream = asio::ssl::stream<tcp::socket>;

  asio::ssl::context context{asio::ssl::context::tls_server};
  std::optional<server_stream> server;
  std::optional<error_code> accepted;
  std::string folder = (std::filesystem::temp_directory_path() / "holdfast-XXXXXX").string();

  void SetUp() override { ASSERT_NE(::mkdtemp(folder.data()), nullptr); }
  void TearDown() override { std::filesystem::remove_all(folder); }

  std::string file(std::string const& name, std::string const& content) const {
    auto path = folder + "/" + name;
    std::ofstream{path} << content;
    return path;
  }

  /// From now on the server accepts one connection.
  void serve(identity const& own_identity) {
    context.use_certificate_chain(asio::buffer(own_identity.cert));
    context.use_private_key(asio::buffer(own_identity.key), asio::ssl::context::pem);
    server.emplace(io, context);
    acceptor.async_accept(server->next_layer(), [this](error_code) {
      server->async_handshake(asio::ssl::stream_base::server,
                              [this](error_code failure) { accepted = failure; });
    });
  }

  using transport_test::connect;
  std::string connect(std::string const& url) { return connect(*make_transport(io, parse_url(url))); }

  /// Connected to a server whose certificate names `host`; the client has that of its authority.
  std::shared_ptr<transport> connected(std::string const& host, identity const& server_identity) {
    serve(server_identity);
    auto client = make_transport(
        io, parse_url("rediss://" + host + ":" + port() + "?ca=" + file("ca", server_identity.cert)));
    EXPECT_EQ(connect(*client), "");
    EXPECT_TRUE(run_until([&] { return accepted.has_value(); }));
    return client;
  }
};

TEST_F(tls_transport, reads_and_writes) {
  auto const client = connected("localhost", identity{"DNS:localhost,IP:127.0.0.1"});
  EXPECT_STREQ(::SSL_get_servername(server->native_handle(), TLSEXT_NAMETYPE_host_name), "localhost");
  EXPECT_FALSE(client->direct());
  error_code failure;
  EXPECT_EQ(client->try_write("x", failure), 0u);
  EXPECT_FALSE(failure);

  std::string const large(1 << 20, 'x');
  std::string received(large.size(), '\0');
  bool read = false;
  std::size_t written = 0;
  asio::async_read(*server, asio::buffer(received), [&](error_code, std::size_t) { read = true; });
  client->async_write(large, [&](error_code, std::size_t count) { written = count; });
  EXPECT_TRUE(run_until([&] { return read && written == large.size(); }));
  EXPECT_EQ(received, large);

  char buffer[16];
  std::size_t size = 0;
  asio::async_write(*server, asio::buffer("hello", 5), [](error_code, std::size_t) {});
  client->async_read_some(buffer, sizeof buffer, [&](error_code, std::size_t count) { size = count; });
  EXPECT_TRUE(run_until([&] { return size > 0; }));
  EXPECT_EQ(std::string(buffer, size), "hello");
}

TEST_F(tls_transport, takes_a_server_that_hangs_up_for_an_ordinary_end) {
  auto const client = connected("127.0.0.1", identity{"IP:127.0.0.1"});
  EXPECT_EQ(failure_of_read(*client, [&] { server->next_layer().close(); }), asio::error::eof);
}

TEST_F(tls_transport, aborts_what_is_under_way_when_it_is_closed) {
  auto const client = connected("127.0.0.1", identity{"IP:127.0.0.1"});
  auto const close_twice = [&] {
    client->close();
    client->close();
  };
  EXPECT_EQ(failure_of_read(*client, close_twice), asio::error::operation_aborted);
}

TEST_F(tls_transport, throws_away_what_has_not_arrived_when_it_is_reset) {
  auto const client = connected("127.0.0.1", identity{"IP:127.0.0.1"});
  std::string const large(64 << 20, 'x');
  client->async_write(large, [](error_code, std::size_t) {});
  EXPECT_TRUE(run_until([&] { return server->next_layer().available() > 0; }));
  client->reset();
  std::string bytes;
  std::optional<error_code> outcome;
  asio::async_read(server->next_layer(), asio::dynamic_buffer(bytes),
                   [&](error_code failure, std::size_t) { outcome = failure; });
  EXPECT_TRUE(run_until([&] { return outcome.has_value(); }));
  EXPECT_EQ(outcome, asio::error::connection_reset);
  EXPECT_LT(bytes.size(), large.size());
}

TEST_F(tls_transport, refuses_an_unknown_authority) {
  serve(identity{"IP:127.0.0.1"});
  EXPECT_EQ(
      connect("rediss://127.0.0.1:" + port()),
      "TLS handshake with 127.0.0.1:" + port() +
          ": certificate verify failed (self-signed certificate); name the file of its authority in the "
          "URL: ca=FILE");
}

TEST_F(tls_transport, refuses_another_authority_than_that_of_the_url) {
  serve(identity{"IP:127.0.0.1"});
  auto const ca = file("ca", identity{"IP:127.0.0.1"}.cert);
  EXPECT_THAT(connect("rediss://127.0.0.1:" + port() + "?ca=" + ca),
              AllOf(HasSubstr("certificate verify failed"),
                    HasSubstr("; ca=" + ca + " in the URL isn't the file of its authority")));
}

TEST_F(tls_transport, refuses_a_certificate_for_another_host) {
  identity const server_identity{"DNS:elsewhere.example"};
  serve(server_identity);
  EXPECT_THAT(connect("rediss://localhost:" + port() + "?ca=" + file("ca", server_identity.cert)),
              AllOf(StartsWith("TLS handshake with 127.0.0.1:" + port()), HasSubstr("ostname mismatch"),
                    HasSubstr("; the certificate has to name localhost")));
}

TEST_F(tls_transport, refuses_a_certificate_for_another_address) {
  identity const server_identity{"IP:10.0.0.1"};
  serve(server_identity);
  EXPECT_THAT(connect("rediss://127.0.0.1:" + port() + "?ca=" + file("ca", server_identity.cert)),
              HasSubstr("IP address mismatch); the certificate has to name 127.0.0.1"));
}

/// A name, or an address with a scope, that no URL can contain but a sentinel may announce.
struct announced_to_tls : tls_transport {
  holdfast::net::endpoint announced(std::string host, identity const& authority) const {
    auto target = parse_url("rediss://h:" + port() + "?ca=" + file("ca", authority.cert));
    target.host = std::move(host);
    return target;
  }
  bool has_ipv6() {
    error_code failure;
    tcp::socket probe{io};
    probe.open(tcp::v6(), failure);
    return !failure;
  }
};

TEST_F(announced_to_tls, address_with_a_scope_is_checked_without_it) {
  if (!has_ipv6()) GTEST_SKIP() << "no IPv6 here";
  identity const other_identity{"DNS:elsewhere.example,IP:10.0.0.1"};
  serve(other_identity);
  EXPECT_THAT(connect(*make_transport(io, announced("::ffff:127.0.0.1%1", other_identity))),
              HasSubstr("IP address mismatch); the certificate has to name ::ffff:127.0.0.1%1"));
}

TEST_F(announced_to_tls, address_with_a_scope_is_that_of_the_certificate_without_one) {
  if (!has_ipv6()) GTEST_SKIP() << "no IPv6 here";
  identity const server_identity{"IP:0:0:0:0:0:ffff:7f00:1"};
  serve(server_identity);
  EXPECT_EQ(connect(*make_transport(io, announced("::ffff:127.0.0.1%1", server_identity))), "");
}

TEST_F(announced_to_tls, name_that_cannot_be_checked_is_refused) {
  identity const other_identity{"DNS:elsewhere.example"};
  serve(other_identity);
  // The name service reads the name up to the zero byte, and finds this machine.
  auto const target = announced(std::string{"127.1\0.example", 14}, other_identity);
  EXPECT_THAT(connect(*make_transport(io, target)),
              HasSubstr("no certificate can be checked for the name \"127.1\""));
}

TEST_F(announced_to_tls, name_that_cannot_be_checked_will_do_when_told_not_to_verify) {
  identity const other_identity{"DNS:elsewhere.example"};
  serve(other_identity);
  auto target = announced(std::string{"127.1\0.example", 14}, other_identity);
  target.tls.verify = false;
  EXPECT_EQ(connect(*make_transport(io, target)), "");
}

TEST_F(tls_transport, takes_any_certificate_when_told_not_to_verify) {
  serve(identity{"DNS:elsewhere.example"});
  EXPECT_EQ(connect("rediss://127.0.0.1:" + port() + "?verify=no"), "");
}

TEST_F(tls_transport, shows_its_own_certificate) {
  identity const server_identity{"IP:127.0.0.1"};
  identity const client_identity{"DNS:client"};
  context.set_verify_mode(asio::ssl::verify_peer | asio::ssl::verify_fail_if_no_peer_cert);
  context.add_certificate_authority(asio::buffer(client_identity.cert));
  serve(server_identity);
  EXPECT_EQ(connect("rediss://127.0.0.1:" + port() + "?ca=" + file("ca", server_identity.cert) + "&cert=" +
                    file("cert", client_identity.cert) + "&key=" + file("key", client_identity.key)),
            "");
  EXPECT_TRUE(run_until([&] { return accepted.has_value(); }));
  EXPECT_FALSE(*accepted) << accepted->message();
}

TEST_F(tls_transport, refuses_old_versions) {
  ::SSL_CTX_set_min_proto_version(context.native_handle(), TLS1_VERSION);
  ::SSL_CTX_set_max_proto_version(context.native_handle(), TLS1_1_VERSION);
  serve(identity{"IP:127.0.0.1"});
  EXPECT_THAT(connect("rediss://127.0.0.1:" + port() + "?verify=no"), StartsWith("TLS handshake with "));
}

TEST_F(tls_transport, asks_whether_a_server_without_tls_has_a_tls_port) {
  tcp::socket plain{io};
  acceptor.async_accept(
      plain, [&](error_code) { asio::write(plain, asio::buffer("-ERR unknown command\r\n", 22)); });
  EXPECT_THAT(connect("rediss://127.0.0.1:" + port()), HasSubstr("is that a TLS port?"));
}

TEST_F(tls_transport, gives_up_the_handshake_when_it_is_closed) {
  tcp::socket silent{io};
  bool connected = false;
  acceptor.async_accept(silent, [&](error_code) { connected = true; });
  auto const client = make_transport(io, parse_url("rediss://127.0.0.1:" + port()));
  std::optional<std::string> outcome;
  client->async_connect([&](std::string const& failure) { outcome = failure; });
  EXPECT_TRUE(run_until([&] { return connected && silent.available() > 0; }));
  client->close();
  EXPECT_TRUE(run_until([&] { return outcome.has_value(); }));
  EXPECT_THAT(*outcome, HasSubstr("Operation canceled"));
}

TEST_F(tls_transport, never_asks_for_a_passphrase) {
  identity const client_identity{"DNS:client"};
  EXPECT_THROW((void)make_transport(io, parse_url("rediss://h?cert=" + file("cert", client_identity.cert) +
                                                  "&key=" + file("key", client_identity.locked_key))),
               holdfast::error);
}

TEST_F(tls_transport, refuses_a_key_of_another_certificate) {
  identity const client_identity{"DNS:client"};
  identity const other_identity{"DNS:client"};
  EXPECT_THROW((void)make_transport(io, parse_url("rediss://h?cert=" + file("cert", client_identity.cert) +
                                                  "&key=" + file("key", other_identity.key))),
               holdfast::error);
}

}  // namespace
