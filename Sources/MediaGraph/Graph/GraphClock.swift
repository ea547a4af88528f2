import GStreamer

extension Graph {
    /// Makes the graph run by this clock, and by no element's, from its next start on: a network's clock, a clock that
    /// several graphs share, or a test's.
    public func useClock(_ clock: Clock) { pipeline.useClock(clock) }
}
