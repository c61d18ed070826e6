// The answers of `holdfast serve` are what its OpenAPI description says.
#include "serve_fixture.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <string>

namespace {

using namespace holdfast::test;
using nlohmann::json;

/// As much of JSON Schema as the description uses.
class description {
 public:
  explicit description(json document) : document_(std::move(document)) {}  // braces would make a list of it

  [[nodiscard]] json const& schema_of(std::string const& path, std::string const& method = "get") const {
    return document_.at("paths")
        .at(path)
        .at(method)
        .at("responses")
        .at("200")
        .at("content")
        .at("application/json")
        .at("schema");
  }
  [[nodiscard]] json const& paths() const { return document_.at("paths"); }

  /// What is wrong; empty: nothing.
  [[nodiscard]] std::string wrong(json const& value, json const& schema,
                                  std::string const& at = "answer") const {
    if (schema.contains("$ref")) {
      auto const reference = schema["$ref"].get<std::string>();
      return wrong(value, document_.at(json::json_pointer{reference.substr(1)}), at);
    }
    if (schema.contains("oneOf")) {
      std::string all;
      for (auto const& each : schema["oneOf"]) {
        auto const text = wrong(value, each, at);
        if (text.empty()) return {};
        all += text + "; ";
      }
      return all;
    }
    if (schema.contains("type") && !is(value, schema["type"])) return at + " is " + value.type_name();
    if (schema.contains("enum") && std::ranges::count(schema["enum"], value) == 0)
      return at + " is " + value.dump();
    if (value.is_object()) return wrong_in_object(value, schema, at);
    if (!value.is_array() || !schema.contains("items")) return {};
    for (auto const& each : value) {
      if (auto text = wrong(each, schema["items"], at + "[]"); !text.empty()) return text;
    }
    return {};
  }

 private:
  static bool is(json const& value, json const& type) {
    if (type.is_array()) return std::ranges::any_of(type, [&](json const& each) { return is(value, each); });
    auto const word = type.get<std::string>();
    if (word == "integer") return value.is_number_integer();
    if (word == "boolean") return value.is_boolean();
    if (word == "string") return value.is_string();
    if (word == "array") return value.is_array();
    return word == "null" ? value.is_null() : value.is_object();
  }
  [[nodiscard]] std::string wrong_in_object(json const& value, json const& schema,
                                            std::string const& at) const {
    auto const properties = schema.value("properties", json::object());
    for (auto const& name : schema.value("required", json::array())) {
      if (!value.contains(name.get<std::string>())) return at + " has no " + name.get<std::string>();
    }
    for (auto const& [name, each] : value.items()) {
      if (properties.empty()) continue;
      if (!properties.contains(name)) return at + "." + name + " isn't described";
      if (auto text = wrong(each, properties[name], at + "." + name); !text.empty()) return text;
    }
    return {};
  }

  json document_;
};

class serve_openapi : public serve_fixture {};

TEST_F(serve_openapi, describes_all_answers) {
  hold("deploy");
  wait_for("deploy", "22222222-2222-4333-8444-555555555555:1");
  redis.command({"SET", "foreign", "of another library"});
  redis.command({"SET", token_key("foreign"), "1"});
  open();
  auto const locks = list_of(2);
  auto const id = locks["locks"][0]["id"].get<std::string>();
  hold("deploy", "33333333-2222-4333-8444-555555555555:1");
  ASSERT_TRUE(eventually([&] { return !get("/api/v1/locks/" + id).json()["changes"].empty(); }));
  description const described{get("/openapi.json").json()};
  for (auto const& [path, methods] : described.paths().items()) {
    if (!methods.contains("get") || path == "/api/v1/events") continue;
    auto target = path;
    if (auto const place = target.find("{id}"); place != std::string::npos) target.replace(place, 4, id);
    if (path == "/api/v1/inspect") target += "?name=foreign";
    auto const answer = get(target);
    EXPECT_EQ(answer.status, 200) << target << ": " << answer.body;
    EXPECT_EQ(described.wrong(answer.json(), described.schema_of(path)), "") << target;
  }
  EXPECT_NE(
      described.wrong(json::parse(R"({"error":1})"), json::parse(R"({"$ref":"#/components/schemas/error"})")),
      "");
}

}  // namespace
