import Glibc

/// How many files the process may have open.
enum FileLimit {
    /// As many as it may have. What another program sends is read from up to some sixteen memories a stream, each of them a file;
    /// a shell begins with 1024, which is enough for sound and picture of some thirty people.
    static func raise() {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return }
        limit.rlim_cur = limit.rlim_max
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    }
}
