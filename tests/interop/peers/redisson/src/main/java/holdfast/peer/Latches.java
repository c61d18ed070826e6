package holdfast.peer;

import static java.util.concurrent.TimeUnit.MILLISECONDS;

import org.redisson.api.RCountDownLatch;

/** What is asked of count-down latches. */
final class Latches {
  private Latches() {}

  static Object run(RCountDownLatch latch, Request request) throws Exception {
    return switch (request.verb()) {
      case "set" -> latch.trySetCount(request.millis(0));
      case "count-down" -> {
        latch.countDown();
        yield "ok";
      }
      case "await" -> {
        if (request.arguments() > 0) yield latch.await(request.millis(0), MILLISECONDS);
        latch.await();
        yield "ok";
      }
      case "count" -> latch.getCount();
      case "delete" -> latch.delete();
      default -> throw request.unknown();
    };
  }
}
