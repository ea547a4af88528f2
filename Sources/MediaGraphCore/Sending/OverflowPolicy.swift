/// What a queue does when it is full.
package enum OverflowPolicy: Int32, Sendable {
    case block, dropOldest, dropNewest
    /// The sender gets an error at once.
    case refuse
}
