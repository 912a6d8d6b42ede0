package keygroups.tests

import org.apache.hadoop.fs.{LocalFileSystem, Path, RawLocalFileSystem}
import org.apache.hadoop.fs.permission.FsPermission

/**
 * The local file system without permissions. Hadoop without its native library starts a chmod process for each file and
 * folder, which was 40% of the processor time of the differential tests.
 */
class QuietFileSystem extends LocalFileSystem(new WithoutPermissions)

private class WithoutPermissions extends RawLocalFileSystem {
  override def setPermission(path: Path, permission: FsPermission): Unit = ()
}
