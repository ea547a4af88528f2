import GStreamer

extension Graph {
    /// Makes the graph use this clock, instead of an element's, from its next start on: for example a network clock, a
    /// clock that several graphs share, or a test's clock.
    public func useClock(_ clock: Clock) { pipeline.useClock(clock) }
}
