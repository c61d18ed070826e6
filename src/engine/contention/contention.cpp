#include "engine/contention/contention.hpp"

namespace holdfast::engine {

contention::contention(contention_parts const& of)
    : fast{of.client, of.log, of.ways},
      waiting{of.stats, of.report, of.noted},
      contending{of.loop,
                 of.client,
                 of.stats,
                 of.queues,
                 waiting,
                 of.wake,
                 of.releases,
                 {.retry = [this](lock_queue& queue) { requests.send(queue, boot_clock::now()); },
                  .mend = [this] { requests.begin_missing(boot_clock::now()); }}},
      requests{of.loop,
               of.backend,
               of.client,
               of.queues,
               of.held,
               waiting,
               contending,
               of.wake,
               of.acknowledged,
               of.releases,
               of.kept,
               of.late,
               fast,
               of.own_presence,
               [this](lock_queue& queue, std::uint64_t number, answer<verdict> const& result,
                      time_point now) { answers.on_answer(queue, number, result, now); }},
      granting{of.client, of.stats, of.held,     waiting,         contending,
               requests,  of.late,  of.watchdog, of.own_presence, fast},
      clearing{of.backend, of.client, of.queues, of.held, of.past, of.wake, of.releases},
      answers{of.client, of.stats, waiting, contending,      requests,
              granting,  clearing, of.wake, of.own_presence, fast},
      messages{of.client, of.stats, of.queues, of.wake, waiting, requests, granting, clearing},
      ends{of.loop,  of.backend, of.client, of.log,      of.stats, of.held, of.past,    contending, requests,
           granting, answers,    of.wake,   of.releases, of.kept,  of.late, of.delayed, fast,       of.noted},
      membership{of.loop, of.backend, of.client, of.stats, of.queues,
                 waiting, contending, requests,  granting, of.wake} {}

}  // namespace holdfast::engine
