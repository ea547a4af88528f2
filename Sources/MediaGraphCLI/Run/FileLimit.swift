import Glibc

/// The number of files that the process may have open.
enum FileLimit {
    /// Raises the limit to the maximum that the system allows.
    ///
    /// A stream from another program uses up to about 16 shared memories, each of which is an open file. A shell's
    /// usual limit of 1024 is enough for sound and picture of about 30 users.
    static func raise() {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return }
        limit.rlim_cur = limit.rlim_max
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    }
}
