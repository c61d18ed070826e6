package holdfast.peer;

import java.util.Arrays;
import java.util.List;
import org.redisson.Redisson;
import org.redisson.api.RedissonClient;
import org.redisson.config.BaseMasterSlaveServersConfig;
import org.redisson.config.ClusterServersConfig;
import org.redisson.config.Config;
import org.redisson.config.ReadMode;

/**
 * Where Redis is, on 127.0.0.1: {@code PORT}, one server; {@code PORT,PORT,…}, masters that know nothing of each
 * other, with a client for each; {@code cluster:PORT,…}; {@code cluster-without-shards:PORT,…}, whose messages
 * go to all nodes; {@code sentinel:MASTER:PORT,…}.
 */
final class Deployment {
  private static final int SCAN_MS = 500; // of roles and slots; the default of 1 s or more is long for a test

  private final long watchdog;

  private Deployment(long watchdog) {
    this.watchdog = watchdog;
  }

  static List<RedissonClient> connect(String where, long watchdog) throws Exception {
    var deployment = new Deployment(watchdog);
    var words = where.split(":");
    var ports = words[words.length - 1].split(",");
    return switch (words.length == 1 ? "masters" : words[0]) {
      case "cluster" -> List.of(deployment.cluster("AUTO", ports));
      case "cluster-without-shards" -> List.of(deployment.cluster("OFF", ports));
      case "sentinel" -> List.of(deployment.sentinel(words[1], ports));
      case "masters" -> Arrays.stream(ports).map(port -> deployment.single(port, ports.length)).toList();
      default -> throw new IllegalArgumentException("what is " + where + "?");
    };
  }

  private RedissonClient single(String port, int of) {
    var config = config();
    var server = config.useSingleServer();
    server
        .setAddress(address(port))
        .setConnectionMinimumIdleSize(1)
        .setSubscriptionConnectionMinimumIdleSize(1);
    if (of > 1) server.setRetryAttempts(1).setTimeout(1000); // one that is down is to be given up soon
    return Redisson.create(config);
  }

  private RedissonClient cluster(String shardedSubscriptions, String... ports) throws Exception {
    var config = config();
    var nodes = small(config.useClusterServers()).setScanInterval(SCAN_MS);
    nodes.addNodeAddress(addresses(ports));
    if (!shardedSubscriptions.equals("AUTO")) {
      var mode = Newer.constant("org.redisson.config.ShardedSubscriptionMode", shardedSubscriptions);
      Newer.call(ClusterServersConfig.class, nodes, "setShardedSubscriptionMode", mode);
    }
    return Redisson.create(config);
  }

  private RedissonClient sentinel(String master, String... ports) {
    var config = config();
    var sentinels = small(config.useSentinelServers()).setScanInterval(SCAN_MS).setMasterName(master);
    sentinels.addSentinelAddress(addresses(ports));
    return Redisson.create(config);
  }

  /** Few threads, since tests start many of these on few cores. Only the watchdog's time-out is on the wire. */
  private Config config() {
    return new Config().setThreads(4).setNettyThreads(2).setLockWatchdogTimeout(watchdog);
  }

  private static <T extends BaseMasterSlaveServersConfig<T>> T small(T servers) {
    return servers
        .setReadMode(ReadMode.MASTER)
        .setMasterConnectionMinimumIdleSize(1)
        .setSlaveConnectionMinimumIdleSize(1)
        .setSubscriptionConnectionMinimumIdleSize(1);
  }

  private static String[] addresses(String... ports) {
    return Arrays.stream(ports).map(Deployment::address).toArray(String[]::new);
  }

  private static String address(String port) {
    return "redis://127.0.0.1:" + port;
  }
}
