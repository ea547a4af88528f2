import Glibc
import Testing

/// What the tests run under. A test that can't is disabled with the reason, which `swift test` prints.
public enum Sanitizer {
    /// Thread Sanitizer's runtime is in this program.
    public static let isThread = isLinked("__tsan_init")
    /// Address Sanitizer's is.
    public static let isAddress = isLinked("__asan_init")

    public static var isAny: Bool { isThread || isAddress }

    /// Why tests that load our plugin into GStreamer's programs don't run.
    public static let stockPrograms: Comment =
        "a plugin built with a sanitizer loads only into programs built with it, and gst-launch-1.0 isn't"

    private static func isLinked(_ symbol: String) -> Bool { dlsym(nil, symbol) != nil }
}
