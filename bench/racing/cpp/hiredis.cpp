// The floor: a blocking hiredis connection for each thread, SET NX PX and the script that compares and
// deletes. A busy lock is asked for again at once. What is to be in flight at once goes in batches over one
// connection.

#include <hiredis/hiredis.h>

#include <iostream>
#include <stdexcept>
#include <vector>

#include "race.hpp"

namespace holdfast::race {
namespace {

constexpr auto ttl_by_default = std::chrono::seconds{30};
constexpr auto compare_and_delete =
    R"(if redis.call("get",KEYS[1]) == ARGV[1] then return redis.call("del",KEYS[1]) else return 0 end)";

class connection {
 public:
  explicit connection(int port) : context_{redisConnect("127.0.0.1", port)} {
    if (!context_ || context_->err != 0) throw std::runtime_error{"the server can't be reached"};
    redisAppendCommand(context_.get(), "SCRIPT LOAD %s", compare_and_delete);
    script_ = read()->str;
  }

  void ask_for(std::string const& name, std::chrono::milliseconds ttl) {
    redisAppendCommand(context_.get(), "SET %s race NX PX %lld", name.c_str(),
                       static_cast<long long>(ttl.count()));
  }
  void give_back(std::string const& name) {
    redisAppendCommand(context_.get(), "EVALSHA %s 1 %s race", script_.c_str(), name.c_str());
  }
  bool granted() { return read()->type == REDIS_REPLY_STATUS; }
  void answered() { (void)read(); }

 private:
  struct drop {
    void operator()(redisContext* context) const noexcept { redisFree(context); }
    void operator()(redisReply* reply) const noexcept { freeReplyObject(reply); }
  };

  std::unique_ptr<redisReply, drop> read() {
    void* reply = nullptr;
    if (redisGetReply(context_.get(), &reply) != REDIS_OK) throw std::runtime_error{context_->errstr};
    std::unique_ptr<redisReply, drop> owned{static_cast<redisReply*>(reply)};
    if (owned->type == REDIS_REPLY_ERROR) throw std::runtime_error{owned->str};
    return owned;
  }

  std::unique_ptr<redisContext, drop> context_;
  std::string script_;
};

class one_lock : public racing_lock {
 public:
  one_lock(int port, std::string name, std::chrono::milliseconds ttl)
      : redis_{port}, name_{std::move(name)}, ttl_{ttl} {}

  void lock() override {
    do redis_.ask_for(name_, ttl_);
    while (!redis_.granted());
  }
  void unlock() override {
    redis_.give_back(name_);
    redis_.answered();
  }

 private:
  connection redis_;
  std::string name_;
  std::chrono::milliseconds ttl_;
};

class floor_racer : public racer {
 public:
  explicit floor_racer(int port) : port_{port}, redis_{port} {}

  [[nodiscard]] std::string version() const override {
    return std::to_string(HIREDIS_MAJOR) + '.' + std::to_string(HIREDIS_MINOR) + '.' +
           std::to_string(HIREDIS_PATCH);
  }

  std::unique_ptr<racing_lock> make(std::string const& name, std::optional<std::chrono::milliseconds> ttl,
                                    bool) override {
    return std::make_unique<one_lock>(port_, name, ttl.value_or(ttl_by_default));
  }

  std::int64_t cycle(int in_flight, std::chrono::microseconds time) override {
    std::int64_t done = 0;
    for (auto const end = microseconds_now() + time.count(); microseconds_now() < end; done += in_flight) {
      all("race:rate:", 0, in_flight, [&](std::string const& name) { redis_.ask_for(name, ttl_by_default); });
      all("race:rate:", 0, in_flight, [&](std::string const& name) { redis_.give_back(name); });
    }
    return done;
  }

  void hold(int names) override {
    constexpr int batch = 256;
    for (int first = 0; first < names; first += batch) {
      all("race:held:", first, std::min(batch, names - first),
          [&](std::string const& name) { redis_.ask_for(name, ttl_by_default); });
    }
  }

 private:
  template <class Request>
  void all(std::string const& prefix, int first, int count, Request const& request) {
    for (int i = first; i < first + count; ++i) request(prefix + std::to_string(i));
    for (int i = 0; i < count; ++i) redis_.answered();
  }

  int port_;
  connection redis_;
};

}  // namespace
}  // namespace holdfast::race

int main(int argc, char** argv) try {
  if (argc < 2) throw std::runtime_error{"usage: holdfast_race_floor PORT"};
  holdfast::race::floor_racer library{std::stoi(argv[1])};
  holdfast::race::serve(library);
} catch (std::exception const& e) {
  std::cerr << e.what() << '\n';
  return 1;
}
