// A program of another's that has spans of its locks.
#include <holdfast/client.hpp>
#include <holdfast/opentelemetry.hpp>

int main() {
  auto const spans = std::make_shared<holdfast::opentelemetry_spans>();
  holdfast::client const redis{"redis://localhost", {.observer = spans}};
  return spans->trace().empty() ? 0 : 1;
}
