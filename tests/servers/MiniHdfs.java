import java.io.BufferedReader;
import java.io.InputStreamReader;
import org.apache.hadoop.fs.SafeModeAction;
import org.apache.hadoop.hdfs.HdfsConfiguration;
import org.apache.hadoop.hdfs.MiniDFSCluster;

/** An HDFS cluster of two data nodes: java MiniHdfs.java FOLDER. It prints its port, takes commands, ends with its input. */
public class MiniHdfs {
  public static void main(String[] arguments) throws Exception {
    HdfsConfiguration conf = new HdfsConfiguration();
    conf.set(MiniDFSCluster.HDFS_MINIDFS_BASEDIR, arguments[0]);
    conf.set("dfs.replication", "2");
    MiniDFSCluster cluster = new MiniDFSCluster.Builder(conf).numDataNodes(2).build();
    cluster.waitActive();
    System.out.println(cluster.getNameNodePort());
    BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
    for (String command = input.readLine(); command != null; command = input.readLine()) {
      obey(cluster, command);
      System.out.println(command);
    }
    Runtime.getRuntime().halt(0);
  }

  private static void obey(MiniDFSCluster cluster, String command) throws Exception {
    switch (command) {
      case "restart name node" -> cluster.restartNameNode(true);
      case "stop data node" -> cluster.stopDataNode(0);
      case "enter safe mode" -> cluster.getFileSystem().setSafeMode(SafeModeAction.ENTER);
      case "leave safe mode" -> cluster.getFileSystem().setSafeMode(SafeModeAction.LEAVE);
      default -> throw new IllegalArgumentException(command);
    }
  }
}
