/// Tells by the numbers of the frames that come whether others were lost before one.
package struct FrameOrder: Sendable {
    private var last: UInt64?

    package init() {}

    package mutating func hasGap(before number: UInt64) -> Bool {
        defer { last = number }
        return last.map { number != $0 + 1 } ?? false
    }
}
