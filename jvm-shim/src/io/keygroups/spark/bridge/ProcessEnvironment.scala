package io.keygroups.spark.bridge

/**
 * The environment variables that a store process gets: those that an interpreter, its libraries and its allocator need. The
 * others of an executor may be credentials of its file systems, or Spark's own secrets.
 */
private[bridge] object ProcessEnvironment {
  private val Names = Set("PATH", "HOME", "USER", "LOGNAME", "LANG", "LANGUAGE", "TZ", "TMPDIR", "TMP", "TEMP",
    "LD_LIBRARY_PATH", "LD_PRELOAD", "DYLD_LIBRARY_PATH", "VIRTUAL_ENV", "CONDA_PREFIX", "CONDA_DEFAULT_ENV", "PYENV_ROOT",
    "PYENV_VERSION")
  private val Prefixes =
    Seq("LC_", "PYTHON", "OMP_", "OPENBLAS_", "MKL_", "ARROW_", "MALLOC_", "MIMALLOC_", "_RJEM_MALLOC_")

  /** Remove the other variables. */
  def restrict(environment: java.util.Map[String, String]): Unit = {
    environment.keySet.removeIf(name => !Names.contains(name) && !Prefixes.exists(name.startsWith))
    ()
  }
}
