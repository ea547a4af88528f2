import Glibc
import Testing

/// The sanitizer that the tests run with. A test that can't run with it is disabled with a reason, which `swift test`
/// prints.
public enum Sanitizer {
    /// Whether the program contains Thread Sanitizer's runtime.
    public static let isThread = isLinked("__tsan_init")
    /// Whether the program contains Address Sanitizer's runtime.
    public static let isAddress = isLinked("__asan_init")

    /// Whether the program contains the runtime of one of the sanitizers.
    public static var isAny: Bool { isThread || isAddress }

    /// The reason for which tests that load the plugin into GStreamer's programs are disabled.
    public static let stockPrograms: Comment =
        "a plugin built with a sanitizer loads only into programs built with it, unlike gst-launch-1.0"

    private static func isLinked(_ symbol: String) -> Bool { dlsym(nil, symbol) != nil }
}
