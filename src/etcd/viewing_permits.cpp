// The numbers of permits, which are no matter of the engine.

#include <algorithm>
#include <cstdint>
#include <functional>
#include <holdfast/error.hpp>
#include <memory>
#include <string>
#include <utility>

#include "etcd/keys.hpp"
#include "etcd/viewing.hpp"

namespace holdfast::etcd {

void viewing::survey(
    std::string const& name, bool with_values,
    std::function<void(std::shared_ptr<error const>, permit_queue, std::int64_t revision)> done) {
  transaction request;
  permit_survey::ask(request.then, keys::folder(prefix_, name), with_values);
  server_.transact(std::move(request), {}, [this, name, done = std::move(done)](response<outcome>&& answer) {
    if (auto failure = server_.failure_of(answer)) {
      done(std::move(failure), {}, 0);
      return;
    }
    auto queue = permit_survey::read(keys::folder(prefix_, name), answer.value.answers);
    if (!queue.misfit.empty()) {
      done(std::make_shared<error const>(errc::wrong_type, "below \"" + name + "\" there is " + queue.misfit +
                                                               ", so it isn't a semaphore"),
           {}, 0);
      return;
    }
    done(nullptr, std::move(queue), answer.value.revision);
  });
}

void viewing::count_permits(std::string const& name, handler<permit_counts> done) {
  survey(name, false,
         [done = std::move(done)](std::shared_ptr<error const> failure, permit_queue const& queue,
                                  std::int64_t /*revision*/) {
           done(std::move(failure),
                {.size = queue.known() ? queue.size : -1, .out = queue.amount_of(queue.holding())});
         });
}

/// What there is is read, and changed if it is still so: a copy of a request that comes late finds another
/// text.
struct viewing::resize_under_way {
  std::string name{};
  resizing how = resizing::set;
  std::int64_t number = 0;
  std::int64_t offered = 0;
  std::string by{};      ///< of this request
  std::string wanted{};  ///< the text of its last attempt
  bool unsure = false;   ///< that may have been carried out, and changed by somebody else meanwhile
  handler<bool> done{};
};

void viewing::resize_permits(std::string const& name, resizing how, std::int64_t number, std::int64_t offered,
                             handler<bool> done) {
  auto const asked = std::make_shared<resize_under_way>();
  asked->name = name;
  asked->how = how;
  asked->number = number;
  asked->offered = offered;
  asked->by = client_.uuid + ":r" + std::to_string(++resizes_);
  asked->done = std::move(done);
  resize(asked);
}

void viewing::resize(std::shared_ptr<resize_under_way> const& asked) {
  survey(
      asked->name, false,
      [this, asked](std::shared_ptr<error const> failure, permit_queue const& queue, std::int64_t revision) {
        if (failure) {
          asked->done(std::move(failure), false);
          return;
        }
        if (!asked->wanted.empty() && queue.size_text == asked->wanted) {
          asked->done(nullptr, true);
          return;
        }
        if (asked->unsure && asked->how != resizing::set) {
          asked->done(unknown(*asked), false);
          return;
        }
        if (asked->how == resizing::set_first && queue.known()) {
          asked->done(nullptr, false);
          return;
        }
        auto const before = queue.known() ? queue.size : asked->offered;
        auto const number = asked->how == resizing::add
                                ? std::clamp<std::int64_t>(before + asked->number, 0, keys::most_permits)
                                : asked->number;
        asked->wanted = keys::size_text(number, asked->by);
        auto const folder = keys::folder(prefix_, asked->name);
        auto const key = keys::size_of(folder);
        transaction request{.when = {still_says(key, queue.size_text)},
                            .then = {put{.key = key, .value = asked->wanted}}};
        if (asked->how == resizing::set_first)  // and nobody has come meanwhile
          request.when.push_back({.key = folder, .end = keys::end_of(folder), .made_before = revision + 1});
        server_.transact(std::move(request), {}, [this, asked](response<outcome>&& answer) {
          if (auto trouble = server_.failure_of(answer)) {
            asked->done(std::move(trouble), false);
          } else if (answer.value.succeeded) {
            asked->done(nullptr, true);
          } else {
            asked->unsure = asked->unsure || answer.resent;
            resize(asked);
          }
        });
      });
}

std::shared_ptr<error const> viewing::unknown(resize_under_way const& asked) const {
  return std::make_shared<error const>(
      errc::unreachable, client_.url + ": it isn't known whether the number of permits of \"" + asked.name +
                             "\" was changed: a request got no answer, and somebody else has changed it "
                             "since; look at it, and set it");
}

void viewing::give_back_permits(std::string const& name, std::string const& owner, handler<bool> done) {
  survey(name, true,
         [this, owner, done = std::move(done)](std::shared_ptr<error const> failure,
                                               permit_queue const& queue, std::int64_t /*revision*/) {
           auto const theirs = std::ranges::find_if(queue.all, [&](permit_queue::entry const& each) {
             return keys::owner_in(each.place.value) == owner;
           });
           if (failure || theirs == queue.all.end()) {
             done(std::move(failure), false);
           } else {
             remove_made_in(theirs->place.key, theirs->place.create_revision, done);
           }
         });
}

}  // namespace holdfast::etcd
