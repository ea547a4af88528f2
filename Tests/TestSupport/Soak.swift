import Foundation

/// The mode of `make soak`, in which tests of random input take minutes.
public enum Soak {
    /// How long a test of random input runs, in seconds; `nil` outside of `make soak`.
    public static let seconds = ProcessInfo.processInfo.environment["MEDIAGRAPH_SOAK_SECONDS"].flatMap(Double.init)

    /// Whether `make soak` runs the tests.
    public static var isOn: Bool { seconds != nil }

    /// Returns how often to repeat what a test does: `usual` times, or more often under `make soak`.
    public static func count(_ usual: Int, soak: Int) -> Int { isOn ? soak : usual }
}
