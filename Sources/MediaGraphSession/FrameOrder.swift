/// Detects lost frames by the numbers of the frames that arrive.
package struct FrameOrder: Sendable {
    private var last: UInt64?

    package init() {}

    /// Records an arriving frame. Returns whether frames were lost between the previous one and this one, which may be the
    /// same frame again.
    package mutating func hasGap(before number: UInt64) -> Bool {
        defer { last = number }
        return last.map { number != $0 + 1 && number != $0 } ?? false
    }
}
