import GStreamer

/// One of the formats of a device: what can be had of it together.
public struct DeviceFormat: Sendable, Hashable, Codable {
    /// From the least to the greatest; both the same where there is one.
    public struct Span<Number: Sendable & Hashable & Codable & Comparable>: Sendable, Hashable, Codable {
        /// The least value.
        public var least: Number
        /// The greatest value.
        public var greatest: Number

        /// The values from `least` to `greatest`, both included.
        public init(least: Number, greatest: Number) {
            self.least = least
            self.greatest = greatest
        }
    }

    /// Such as "video/x-raw" or "image/jpeg".
    public var mediaType: String
    /// What raw pixels or samples are called: "YUY2", "S16LE".
    public var names: [String]
    /// Pixels; of video only, as is the rate.
    public var widths: [Span<Int>]
    /// Pixels; of video only.
    public var heights: [Span<Int>]
    /// Frames per second; 0 to 2147483647 where a device gives any, as screens do.
    public var frameRates: [Span<Double>]
    /// Samples per second; of sound only, as are the channels.
    public var sampleRates: [Span<Int>]
    /// The numbers of channels; of sound only.
    public var channels: [Span<Int>]

    /// One alternative of a device's caps.
    package init(_ structure: Structure) {
        func spans<Number>(_ ranges: [ClosedRange<Number>]) -> [Span<Number>] {
            ranges.map { Span(least: $0.lowerBound, greatest: $0.upperBound) }
        }
        mediaType = structure.name
        names = structure.names("format")
        widths = spans(structure.integers("width"))
        heights = spans(structure.integers("height"))
        // GStreamer's least fraction stands for none.
        frameRates = spans(
            structure.fractions("framerate").map { ($0.lowerBound < 1e-6 ? 0 : $0.lowerBound)...$0.upperBound })
        sampleRates = spans(structure.integers("rate"))
        channels = spans(structure.integers("channels"))
    }
}
