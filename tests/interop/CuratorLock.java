// Curator's InterProcessMutex, driven line by line: `java -cp … CuratorLock.java HOSTS`.
//
// Reads `take PATH TTL_MS` (the ttl is the session's business), `release PATH`; answers each with
// one line: `yes`, `no` (held by another, or not ours), or `error …`. Ends with its input.
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.retry.RetryOneTime;

public class CuratorLock {
  public static void main(String[] args) throws Exception {
    CuratorFramework client = CuratorFrameworkFactory.newClient(args[0], new RetryOneTime(100));
    client.start();
    Map<String, InterProcessMutex> held = new HashMap<>();
    BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
    for (String line; (line = input.readLine()) != null; ) {
      try {
        System.out.println(answer(client, held, line.split(" ")));
      } catch (Exception why) {  // the test shows it
        System.out.println("error " + why);
      }
      System.out.flush();
    }
    client.close();
  }

  private static String answer(CuratorFramework client, Map<String, InterProcessMutex> held,
      String[] words) throws Exception {
    String path = words[1];
    if (words[0].equals("take")) {
      InterProcessMutex lock = new InterProcessMutex(client, path);
      if (!lock.acquire(50, TimeUnit.MILLISECONDS)) return "no";
      held.put(path, lock);
      return "yes";
    }
    InterProcessMutex lock = held.remove(path);
    if (lock == null) return "no";
    lock.release();
    return "yes";
  }
}
