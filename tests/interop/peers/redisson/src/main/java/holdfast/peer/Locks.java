package holdfast.peer;

import static java.util.concurrent.TimeUnit.MILLISECONDS;

import org.redisson.api.RFencedLock;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.client.codec.StringCodec;

/** What is asked of locks of all kinds. */
final class Locks {
  private Locks() {}

  static Object run(RLock lock, RedissonClient client, Request request) throws Exception {
    return switch (request.verb()) {
      case "lock" -> {
        lock(lock, request, 0);
        yield "ok";
      }
      case "try-lock" ->
          switch (request.arguments()) {
            case 0 -> lock.tryLock();
            case 1 -> lock.tryLock(request.millis(0), MILLISECONDS);
            default -> lock.tryLock(request.millis(0), request.millis(1), MILLISECONDS);
          };
      case "unlock" -> {
        lock.unlock();
        yield "ok";
      }
      case "force-unlock" -> lock.forceUnlock();
      case "is-locked" -> lock.isLocked();
      case "is-held" -> lock.isHeldByCurrentThread();
      case "hold-count" -> lock.getHoldCount();
      case "ttl" -> lock.remainTimeToLive();
      case "increment" -> {
        increment(lock, client, request);
        yield "ok";
      }
      default -> throw request.unknown();
    };
  }

  static Object runFenced(RFencedLock lock, RedissonClient client, Request request) throws Exception {
    return switch (request.verb()) {
      case "lock-token" ->
          request.arguments() == 0
              ? lock.lockAndGetToken()
              : lock.lockAndGetToken(request.millis(0), MILLISECONDS);
      case "try-lock-token" -> lock.tryLockAndGetToken(request.millis(0), request.millis(1), MILLISECONDS);
      case "token" -> lock.getToken();
      default -> run(lock, client, request);
    };
  }

  private static void lock(RLock lock, Request request, int lease) {
    if (request.arguments() > lease) {
      lock.lock(request.millis(lease), MILLISECONDS);
    } else {
      lock.lock();
    }
  }

  private static void increment(RLock lock, RedissonClient client, Request request) {
    var counter = client.<String>getBucket(request.text(0), StringCodec.INSTANCE);
    for (int left = request.number(1); left > 0; --left) {
      lock(lock, request, 2);
      try {
        var before = counter.get();
        counter.set(Long.toString((before == null ? 0 : Long.parseLong(before)) + 1));
      } finally {
        lock.unlock();
      }
    }
  }
}
