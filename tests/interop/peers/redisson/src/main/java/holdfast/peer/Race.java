package holdfast.peer;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.ByteOrder;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Phaser;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.redisson.Redisson;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

/**
 * Redisson in bench/race: PORT; then the line protocol of bench/racing/README.md. RLock with its defaults: watchdog of 30
 * s. A thread for each contender; what is to be in flight at once on different names is asynchronous.
 */
public final class Race {
  private final String port;
  private final RedissonClient client;
  private final Map<Long, RedissonClient> withTtl = new HashMap<>();
  private final List<RLock> kept = new ArrayList<>();
  private RLock held;

  private Race(String port) {
    this.port = port;
    this.client = Redisson.create(config());
  }

  private Config config() {
    var config = new Config();
    config.useSingleServer().setAddress("redis://127.0.0.1:" + port);
    return config;
  }

  /** What the holders of all processes tell each other, in a file: who held last, from 1 on, and whether somebody does. */
  private record Tally(MappedByteBuffer bytes) {
    static Tally in(String file) throws IOException {
      try (var channel = FileChannel.open(Path.of(file), StandardOpenOption.READ, StandardOpenOption.WRITE)) {
        var bytes = channel.map(FileChannel.MapMode.READ_WRITE, 0, 8);
        bytes.order(ByteOrder.nativeOrder());
        return new Tally(bytes);
      }
    }
  }

  private static final class Turns {
    long taken;
    long handoffs;
    long processHandoffs;
    long overlaps;
    long longest;
  }

  private record Contention(String name, int contenders, int first, long start, long end, Tally tally) {
    void takeTurns(RLock lock, int me, Turns mine) {
      sleep(start - now());
      for (long asked = now(); asked < end; asked = now()) {
        lock.lock();
        long at = now();
        mine.longest = Math.max(mine.longest, Math.min(at, end) - asked);
        if (at < end) visit(me, mine);
        lock.unlock();
      }
    }

    private void visit(int me, Turns mine) {
      var bytes = tally.bytes;
      if (bytes.getInt(4) != 0) mine.overlaps++;
      bytes.putInt(4, 1);
      int before = bytes.getInt(0) - 1;
      bytes.putInt(0, me + 1);
      if (before != me) mine.handoffs++;
      if (before >= 0 && (before < first || before >= first + contenders)) mine.processHandoffs++;
      mine.taken++;
      bytes.putInt(4, 0);
    }
  }

  private static long now() {
    return ChronoUnit.MICROS.between(Instant.EPOCH, Instant.now());
  }

  private static void sleep(long micros) {
    try {
      if (micros > 0) Thread.sleep(micros / 1000, (int) (micros % 1000) * 1000);
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  private static long microseconds(String seconds) {
    return (long) (Double.parseDouble(seconds) * 1e6);
  }

  private String cycles(int count) {
    var lock = client.getLock("race:cycles");
    var took = new long[count];
    for (int i = 0; i < count; ++i) {
      long before = System.nanoTime();
      lock.lock();
      lock.unlock();
      took[i] = System.nanoTime() - before;
    }
    Arrays.sort(took);
    return "{\"p50_us\": %f, \"p99_us\": %f}"
        .formatted(took[(int) ((count - 1) * 0.5)] / 1e3, took[(int) ((count - 1) * 0.99)] / 1e3);
  }

  private void cycle(RLock lock, long owner, long end, AtomicLong done, Phaser running) {
    lock.lockAsync(owner)
        .thenCompose(nothing -> lock.unlockAsync(owner))
        .whenComplete(
            (nothing, failed) -> {
              if (failed != null) Runtime.getRuntime().halt(1); // nobody is in the way, and the server is up
              done.incrementAndGet();
              if (now() < end) cycle(lock, owner, end, done, running);
              else running.arriveAndDeregister();
            });
  }

  private String rate(int inFlight, long micros) {
    var done = new AtomicLong();
    long before = now();
    if (inFlight == 1) {
      var lock = client.getLock("race:rate:0");
      for (; now() < before + micros; done.incrementAndGet()) {
        lock.lock();
        lock.unlock();
      }
    } else {
      var running = new Phaser(inFlight + 1);
      for (int i = 0; i < inFlight; ++i) cycle(client.getLock("race:rate:" + i), i, before + micros, done, running);
      running.awaitAdvance(running.arriveAndDeregister());
    }
    return "{\"cycles\": %d, \"seconds\": %f}".formatted(done.get(), (now() - before) / 1e6);
  }

  private String contend(String[] words) throws IOException, InterruptedException {
    long start = Long.parseLong(words[4]);
    var of =
        new Contention(
            words[1],
            Integer.parseInt(words[2]),
            Integer.parseInt(words[3]),
            start,
            start + microseconds(words[5]),
            Tally.in(words[6]));
    var all = IntStream.range(0, of.contenders).mapToObj(i -> new Turns()).toList();
    var threads =
        IntStream.range(0, of.contenders)
            .mapToObj(i -> new Thread(() -> of.takeTurns(client.getLock(of.name), of.first + i, all.get(i))))
            .toList();
    threads.forEach(Thread::start);
    for (var thread : threads) thread.join();
    return "{\"turns\": [%s], \"handoffs\": %d, \"process_handoffs\": %d, \"overlaps\": %d, \"longest_wait_us\": %d}"
        .formatted(
            all.stream().map(each -> Long.toString(each.taken)).collect(Collectors.joining(", ")),
            all.stream().mapToLong(each -> each.handoffs).sum(),
            all.stream().mapToLong(each -> each.processHandoffs).sum(),
            all.stream().mapToLong(each -> each.overlaps).sum(),
            all.stream().mapToLong(each -> each.longest).max().orElse(0));
  }

  private String timed(Runnable call) {
    long asked = now();
    call.run();
    return "{\"asked_us\": %d, \"at_us\": %d}".formatted(asked, now());
  }

  private String acquire(String name, long ttl) {
    var with =
        withTtl.computeIfAbsent(
            ttl,
            unused -> {
              var config = config();
              config.setLockWatchdogTimeout(ttl); // there is no ttl of one lock that is renewed
              return Redisson.create(config);
            });
    held = with.getLock(name);
    return timed(held::lock);
  }

  private String holdMany(int count) throws InterruptedException, ExecutionException {
    var slots = new Semaphore(256);
    long before = now();
    for (int i = 0; i < count; ++i) {
      var lock = client.getLock("race:held:" + i);
      kept.add(lock);
      slots.acquire();
      lock.lockAsync(1).whenComplete((nothing, failed) -> slots.release());
    }
    slots.acquire(256);
    return "{\"held\": %d, \"seconds\": %f}".formatted(count, (now() - before) / 1e6);
  }

  private String answer(String[] words) throws IOException, InterruptedException, ExecutionException {
    return switch (words[0]) {
      case "cycles" -> cycles(Integer.parseInt(words[1]));
      case "rate" -> rate(Integer.parseInt(words[1]), microseconds(words[2]));
      case "contend" -> contend(words);
      case "acquire" -> acquire(words[1], Long.parseLong(words[2]));
      case "release" -> timed(held::unlock);
      case "watch" -> "{\"unsupported\": true}";
      case "hold_many" -> holdMany(Integer.parseInt(words[1]));
      default -> throw new IllegalArgumentException("no such request: " + words[0]);
    };
  }

  public static void main(String[] args) throws IOException {
    var race = new Race(args[0]);
    var out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
    out.println("ready " + Redisson.class.getPackage().getImplementationVersion());
    var in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line = in.readLine(); line != null; line = in.readLine()) {
      String answer;
      try {
        answer = race.answer(line.split(" "));
      } catch (Exception e) { // whatever it is, the race that asked is to see it
        answer = "{\"error\": \"%s\"}".formatted(String.valueOf(e).replaceAll("[\"\\\\\\p{Cntrl}]", " "));
      }
      out.println(answer);
    }
    Runtime.getRuntime().halt(0); // releases nothing
  }
}
