/// What a full queue does.
package enum OverflowPolicy: Int32, Sendable {
    case block, dropOldest, dropNewest
    /// Whoever sends is told, at once.
    case refuse
}
