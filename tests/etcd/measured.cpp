#include "measured.hpp"

#include <holdfast/client.hpp>
#include <holdfast/mutex.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <iostream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace holdfast::test {
namespace {

using clock = std::chrono::steady_clock;

constexpr std::chrono::seconds patience{20};

void cycle(std::string const& url, std::string const& name, int times) {
  client etcd{url, {.patience = patience}};
  mutex lock{etcd, name};
  std::vector<std::int64_t> took;
  took.reserve(static_cast<std::size_t>(times));
  for (int i = 0; i != times; ++i) {
    auto const begun = clock::now();
    (void)lock.acquire().release();
    took.push_back(std::chrono::duration_cast<std::chrono::microseconds>(clock::now() - begun).count());
  }
  std::ranges::sort(took);
  std::cout << "median " << took[took.size() / 2] << std::endl;
}

void contend(std::string const& url, std::string const& name, std::chrono::seconds time) {
  client etcd{url, {.patience = patience}};
  mutex lock{etcd, name, {.ttl = std::chrono::seconds{60}}};
  etcd.connect();
  std::cout << "ready" << std::endl;
  std::string line;
  std::getline(std::cin, line);
  auto const end = clock::now() + time;
  auto rounds = 0;
  while (clock::now() < end) {
    (void)lock.acquire().release();
    ++rounds;
  }
  std::cout << "rounds " << rounds << std::endl;
}

double processor_ms() { return 1000.0 * static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

void many(std::string const& url, int number, std::chrono::seconds time) {
  client etcd{url, {.patience = patience}};
  std::vector<lease> held;
  held.reserve(static_cast<std::size_t>(number));
  for (int i = 0; i != number; ++i) {
    mutex lock{etcd, "many-" + std::to_string(i), {.ttl = std::chrono::seconds{30}}};
    held.push_back(lock.acquire());
  }
  std::cout << "held " << held.size() << std::endl;
  auto const before = processor_ms();
  std::this_thread::sleep_for(time);
  std::cout << "used " << processor_ms() - before << std::endl;
  std::cout << "lost " << std::ranges::count_if(held, [](lease const& each) { return !each.valid(); })
            << std::endl;
}

}  // namespace

void measure_if_requested(int argc, char** argv) {
  if (argc != 5) return;
  std::string_view const verb{argv[1]};
  std::string const url{argv[2]};
  if (verb == "cycle") {
    cycle(url, argv[3], std::stoi(argv[4]));
  } else if (verb == "contend") {
    contend(url, argv[3], std::chrono::seconds{std::stoi(argv[4])});
  } else if (verb == "many") {
    many(url, std::stoi(argv[3]), std::chrono::seconds{std::stoi(argv[4])});
  } else {
    return;
  }
  std::exit(0);
}

}  // namespace holdfast::test
