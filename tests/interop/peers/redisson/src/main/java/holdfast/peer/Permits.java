package holdfast.peer;

import static java.util.concurrent.TimeUnit.MILLISECONDS;

import org.redisson.api.RPermitExpirableSemaphore;
import org.redisson.api.RSemaphore;

/** What is asked of both kinds of semaphores. */
final class Permits {
  private Permits() {}

  static Object run(RSemaphore semaphore, Request request) throws Exception {
    return switch (request.verb()) {
      case "set" -> semaphore.trySetPermits(request.number(0));
      case "acquire" -> {
        semaphore.acquire(request.number(0));
        yield "ok";
      }
      case "try-acquire" ->
          request.arguments() == 1
              ? semaphore.tryAcquire(request.number(0))
              : semaphore.tryAcquire(request.number(0), request.millis(1), MILLISECONDS);
      case "release" -> {
        semaphore.release(request.number(0));
        yield "ok";
      }
      case "release-if-exists" -> Newer.call(RSemaphore.class, semaphore, "releaseIfExists", request.number(0));
      case "add" -> {
        semaphore.addPermits(request.number(0));
        yield "ok";
      }
      case "drain" -> semaphore.drainPermits();
      case "available" -> semaphore.availablePermits();
      case "delete" -> semaphore.delete();
      default -> throw request.unknown();
    };
  }

  static Object run(RPermitExpirableSemaphore semaphore, Request request) throws Exception {
    return switch (request.verb()) {
      case "set" -> semaphore.trySetPermits(request.number(0));
      case "acquire" ->
          request.arguments() == 0 ? semaphore.acquire() : semaphore.acquire(request.millis(0), MILLISECONDS);
      case "try-acquire" ->
          request.arguments() == 1
              ? semaphore.tryAcquire(request.millis(0), MILLISECONDS)
              : semaphore.tryAcquire(request.millis(0), request.millis(1), MILLISECONDS);
      case "release" -> {
        semaphore.release(request.text(0));
        yield "ok";
      }
      case "try-release" -> semaphore.tryRelease(request.text(0));
      case "add" -> {
        semaphore.addPermits(request.number(0));
        yield "ok";
      }
      case "available" -> semaphore.availablePermits();
      case "lease" -> Newer.call(RPermitExpirableSemaphore.class, semaphore, "getLeaseTime", request.text(0));
      case "set-lease" -> semaphore.updateLeaseTime(request.text(0), request.millis(1), MILLISECONDS);
      case "delete" -> semaphore.delete();
      default -> throw request.unknown();
    };
  }
}
