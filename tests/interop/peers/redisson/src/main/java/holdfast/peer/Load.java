package holdfast.peer;

import com.sun.management.OperatingSystemMXBean;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.IntStream;
import org.redisson.Redisson;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

/**
 * Locks and unlocks as fast as Redisson can, with its defaults, for benchmarks. {@code one|different THREADS SECONDS}
 * in, a line of JSON out: what was measured after the threads had come under way. The first answers are those of a cold
 * JVM; the caller throws them away.
 */
public final class Load {
  private static final long SETTLE_MS = 200;
  private static final OperatingSystemMXBean SYSTEM =
      (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();

  private final AtomicLong cycles = new AtomicLong();
  private final AtomicLong handoffs = new AtomicLong();
  private final AtomicInteger inside = new AtomicInteger();
  private volatile int last = -1; // written by who holds the lock
  private volatile boolean overlapped;
  private volatile boolean stop;

  private record Moment(long nanos, long cpuNanos, long cycles, long handoffs) {}

  public static void main(String[] args) throws IOException, InterruptedException {
    var config = new Config();
    config.useSingleServer().setAddress("redis://127.0.0.1:" + args[0]);
    var client = Redisson.create(config);
    var out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
    var in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line = in.readLine(); line != null; line = in.readLine()) {
      var words = line.split(" ");
      var seconds = Double.parseDouble(words[2]);
      out.println(new Load().run(client, words[0].equals("one"), Integer.parseInt(words[1]), seconds));
    }
    client.shutdown();
  }

  private String run(RedissonClient client, boolean one, int count, double seconds) throws InterruptedException {
    var threads =
        IntStream.range(0, count)
            .mapToObj(
                number -> {
                  var lock = client.getLock(one ? "bench:contended" : "bench:" + number);
                  return new Thread(() -> cycle(lock, one, number));
                })
            .toList();
    threads.forEach(Thread::start);
    Thread.sleep(SETTLE_MS);
    var before = now();
    Thread.sleep((long) (seconds * 1000));
    var after = now();
    stop = true;
    for (var thread : threads) thread.join();
    if (overlapped) throw new IllegalStateException("two threads held the lock at once");
    return "{\"version\": \"%s\", \"seconds\": %f, \"cycles\": %d, \"handoffs\": %d, \"cpu_seconds\": %f}"
        .formatted(
            Redisson.class.getPackage().getImplementationVersion(),
            (after.nanos - before.nanos) * 1e-9,
            after.cycles - before.cycles,
            after.handoffs - before.handoffs,
            (after.cpuNanos - before.cpuNanos) * 1e-9);
  }

  private Moment now() {
    return new Moment(System.nanoTime(), SYSTEM.getProcessCpuTime(), cycles.get(), handoffs.get());
  }

  private void cycle(RLock lock, boolean one, int number) {
    while (!stop) {
      lock.lock();
      if (one) visit(number);
      lock.unlock();
      cycles.incrementAndGet();
    }
  }

  private void visit(int number) {
    if (inside.incrementAndGet() != 1) overlapped = true;
    if (last != number) handoffs.incrementAndGet();
    last = number;
    inside.decrementAndGet();
  }
}
