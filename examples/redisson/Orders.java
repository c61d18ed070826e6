import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.redisson.Redisson;
import org.redisson.config.Config;

/**
 * Ships the orders that a C++ program takes: orders.cpp beside this file. Both write in one book, a file, so they contend
 * for its lock; a semaphore counts the orders that wait for shipping, and a latch those that are left to ship.
 *
 * <pre>HOLDFAST_URL=redis://localhost:6379 mvn -q compile exec:java -Dexec.args=book.txt</pre>
 */
public final class Orders {
  private static final int ORDERS = 20;

  public static void main(String[] arguments) throws IOException, InterruptedException {
    var book = Path.of(arguments.length > 0 ? arguments[0] : "book.txt");
    var url = System.getenv().getOrDefault("HOLDFAST_URL", "redis://localhost:6379");
    var config = new Config();
    config.useSingleServer().setAddress(url);
    var redis = Redisson.create(config);
    var bookLock = redis.getLock("shop:book"); // a holdfast::mutex on Redisson's wire
    var toShip = redis.getSemaphore("shop:to-ship"); // a holdfast::semaphore
    var allShipped = redis.getCountDownLatch("shop:all-shipped"); // a holdfast::latch

    allShipped.trySetCount(ORDERS); // whoever comes first sets it, here or in C++
    for (int shipped = 0; shipped < ORDERS; ++shipped) {
      toShip.acquire();
      bookLock.lock();
      try {
        ship(book);
      } finally {
        bookLock.unlock();
      }
      allShipped.countDown();
    }
    redis.shutdown();
  }

  /** Marks the first order that isn't shipped yet. Reads and writes the whole file: nobody else may do so meanwhile. */
  private static void ship(Path book) throws IOException {
    List<String> lines = Files.readAllLines(book);
    int next = 0;
    while (!lines.get(next).endsWith("ordered")) ++next;
    lines.set(next, lines.get(next).replace("ordered", "ordered, shipped"));
    Files.write(book, lines);
  }
}
