import GStreamer

/// A format of a device, with the sizes and rates that the device supports in it.
public struct DeviceFormat: Sendable, Hashable, Codable {
    /// A range of numbers. Both bounds are the same for a single value.
    public struct Span<Number: Sendable & Hashable & Codable & Comparable>: Sendable, Hashable, Codable {
        /// The least value.
        public var least: Number
        /// The greatest value.
        public var greatest: Number

        /// Creates a range that includes both bounds.
        public init(least: Number, greatest: Number) {
            self.least = least
            self.greatest = greatest
        }
    }

    /// The media type, such as "video/x-raw" or "image/jpeg".
    public var mediaType: String
    /// The names of raw pixel or sample formats, such as "YUY2" or "S16LE".
    public var names: [String]
    /// Widths in pixels; empty for audio.
    public var widths: [Span<Int>]
    /// Heights in pixels; empty for audio.
    public var heights: [Span<Int>]
    /// Frames per second; empty for audio. 0 to 2147483647 if the device supports any rate, as screens do.
    public var frameRates: [Span<Double>]
    /// Samples per second; empty for video.
    public var sampleRates: [Span<Int>]
    /// Numbers of channels; empty for video.
    public var channels: [Span<Int>]

    /// Creates a format from one structure of a device's caps.
    package init(_ structure: Structure) {
        func spans<Number>(_ ranges: [ClosedRange<Number>]) -> [Span<Number>] {
            ranges.map { Span(least: $0.lowerBound, greatest: $0.upperBound) }
        }
        mediaType = structure.name
        names = structure.names("format")
        widths = spans(structure.integers("width"))
        heights = spans(structure.integers("height"))
        // GStreamer's smallest fraction means that there is no lower bound.
        frameRates = spans(
            structure.fractions("framerate").map { ($0.lowerBound < 1e-6 ? 0 : $0.lowerBound)...$0.upperBound })
        sampleRates = spans(structure.integers("rate"))
        channels = spans(structure.integers("channels"))
    }
}
