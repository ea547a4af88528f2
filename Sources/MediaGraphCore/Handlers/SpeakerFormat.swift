/// The format of the sound that a virtual speaker receives, whatever the users send. The samples are 16-bit integers.
public struct SpeakerFormat: Sendable, Hashable {
    /// Samples per second and channel, from 8000 to 192,000.
    public var sampleRate: Int
    /// The number of channels: 1 for mono, 2 for stereo.
    public var channelCount: Int

    /// Creates a format. By default, it is mono at 48,000 Hz.
    public init(sampleRate: Int = 48_000, channelCount: Int = 1) {
        self.sampleRate = sampleRate
        self.channelCount = channelCount
    }

    /// The rates that a virtual speaker supports.
    package static let sampleRates: ClosedRange<Int32> = 8000...192_000
    /// The numbers of channels that a virtual speaker supports.
    package static let channelCounts: ClosedRange<Int32> = 1...2

    /// Whether a virtual speaker supports the format.
    package var isSupported: Bool {
        Int32(exactly: sampleRate).map(Self.sampleRates.contains) == true
            && Int32(exactly: channelCount).map(Self.channelCounts.contains) == true
    }
}
