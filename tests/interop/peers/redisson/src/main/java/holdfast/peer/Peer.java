package holdfast.peer;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.redisson.Redisson;
import org.redisson.api.RedissonClient;

/** Drives Redisson by lines: {@code ID THREAD KIND NAME VERB [ARG...]} in, {@code ID ANSWER} out. */
public final class Peer {
  private static final PrintStream OUT = new PrintStream(System.out, true, StandardCharsets.UTF_8);

  private final Map<String, ExecutorService> threads = new HashMap<>(); // touched only by the reader of lines
  private final Objects objects;

  private Peer(List<RedissonClient> clients) {
    objects = new Objects(clients);
  }

  public static void main(String[] args) throws Exception {
    var watchdog = args.length > 1 ? Long.parseLong(args[1]) : 30_000;
    var peer = new Peer(Deployment.connect(args[0], watchdog));
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
