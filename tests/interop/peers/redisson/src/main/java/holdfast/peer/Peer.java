package holdfast.peer;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.redisson.Redisson;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

/** Drives Redisson by lines: {@code ID THREAD KIND NAME VERB [ARG...]} in, {@code ID ANSWER} out. */
public final class Peer {
  private static final PrintStream OUT = new PrintStream(System.out, true, StandardCharsets.UTF_8);

  private final Map<String, ExecutorService> threads = new HashMap<>(); // touched only by the reader of lines
  private final Objects objects;

  private Peer(RedissonClient client) {
    objects = new Objects(client);
  }

  public static void main(String[] args) throws IOException {
    var config = new Config();
    // Small, since tests start many of these on few cores; nothing of this is on the wire but the watchdog's time-out.
    config.setThreads(4).setNettyThreads(2).setLockWatchdogTimeout(args.length > 1 ? Long.parseLong(args[1]) : 30_000);
    config.useSingleServer()
        .setAddress("redis://127.0.0.1:" + args[0])
        .setConnectionMinimumIdleSize(1)
        .setSubscriptionConnectionMinimumIdleSize(1);
    var peer = new Peer(Redisson.create(config));
    say("0", "ready " + Redisson.class.getPackage().getImplementationVersion());
    try {
      peer.serve();
    } catch (RuntimeException e) {
      e.printStackTrace();
    }
    Runtime.getRuntime().halt(0); // Redisson's own threads would go on; and this releases nothing, as it should
  }

  private void serve() throws IOException {
    var in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line = in.readLine(); line != null; line = in.readLine()) {
      var request = new Request(line.split(" "));
      // Redisson's owner is the Java thread, so each thread of the protocol has one for good.
      threads
          .computeIfAbsent(request.thread(), name -> Executors.newSingleThreadExecutor(task -> new Thread(task, name)))
          .execute(() -> say(request.id(), answer(request)));
    }
  }

  private String answer(Request request) {
    try {
      var result = objects.run(request);
      return result == null ? "none" : result.toString();
    } catch (NoSuchMethodException | UnsupportedOperationException e) {
      return "unsupported";
    } catch (Throwable e) { // whatever it is, the test that asked is to see it
      return ("error " + e.getClass().getSimpleName() + ": " + e.getMessage()).replaceAll("\\s+", " ");
    }
  }

  private static synchronized void say(String id, String answer) {
    OUT.println(id + " " + answer);
  }
}
