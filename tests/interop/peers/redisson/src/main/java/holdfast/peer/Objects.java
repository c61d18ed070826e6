package holdfast.peer;

import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Supplier;
import org.redisson.RedissonRedLock;
import org.redisson.api.RCountDownLatch;
import org.redisson.api.RFencedLock;
import org.redisson.api.RLock;
import org.redisson.api.RPermitExpirableSemaphore;
import org.redisson.api.RSemaphore;
import org.redisson.api.RedissonClient;

/**
 * Redisson's object for each kind and name, one per process as programs have it: an RLock object remembers the last
 * explicit lease, so a new one for each request would behave differently.
 */
final class Objects {
  private final List<RedissonClient> clients; // one, or one for each of several masters
  private final RedissonClient client; // the first: of all but what spans the masters
  private final Map<String, Object> known = new ConcurrentHashMap<>();

  Objects(List<RedissonClient> clients) {
    this.clients = clients;
    this.client = clients.get(0);
  }

  Object run(Request request) throws Exception {
    var name = request.name();
    return switch (request.kind()) {
      case "client" -> describe(request);
      case "semaphore" -> Permits.run((RSemaphore) object(request, () -> client.getSemaphore(name)), request);
      case "permits" ->
          Permits.run(
              (RPermitExpirableSemaphore) object(request, () -> client.getPermitExpirableSemaphore(name)), request);
      case "latch" -> Latches.run((RCountDownLatch) object(request, () -> client.getCountDownLatch(name)), request);
      case "fenced" -> Locks.runFenced((RFencedLock) lock(request), client, request);
      default -> Locks.run(lock(request), client, request);
    };
  }

  private RLock lock(Request request) throws Exception {
    var name = request.name();
    return switch (request.kind()) {
      case "lock" -> (RLock) object(request, () -> client.getLock(name));
      case "fair" -> (RLock) object(request, () -> client.getFairLock(name));
      case "spin" -> (RLock) object(request, () -> client.getSpinLock(name));
      case "fenced" -> (RLock) object(request, () -> client.getFencedLock(name));
      case "read" -> (RLock) object(request, () -> client.getReadWriteLock(name).readLock());
      case "write" -> (RLock) object(request, () -> client.getReadWriteLock(name).writeLock());
      case "multi" -> (RLock) object(request, () -> client.getMultiLock(locks(name)));
      case "red" -> (RLock) object(request, () -> redLock(name));
      case "non-reentrant" -> {
        var made = Newer.call(RedissonClient.class, client, "getNonReentrantLock", name);
        yield (RLock) object(request, () -> made);
      }
      default -> throw request.unknown();
    };
  }

  private RLock[] locks(String names) {
    return Arrays.stream(names.split(",")).map(client::getLock).toArray(RLock[]::new);
  }

  @SuppressWarnings("deprecation") // it is what people have who want a majority
  private RLock redLock(String name) {
    return new RedissonRedLock(clients.stream().map(master -> master.getLock(name)).toArray(RLock[]::new));
  }

  private Object object(Request request, Supplier<Object> make) {
    return known.computeIfAbsent(request.kind() + " " + request.name(), ignored -> make.get());
  }

  private Object describe(Request request) {
    return switch (request.verb()) {
      case "id" -> client.getId();
      case "owner" -> client.getId() + ":" + Thread.currentThread().getId();
      default -> throw request.unknown();
    };
  }
}
