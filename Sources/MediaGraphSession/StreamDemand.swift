import MediaGraphCore

/// What the readers of a stream want of it.
package struct StreamDemand: Sendable, Hashable {
    /// The highest resolution that a reader wants.
    package var resolution: Resolution
    /// Whether a reader wants the stream decoded. False if all of them take a transport's encoded stream as it is.
    package var wantsDecoded: Bool

    package init(resolution: Resolution, wantsDecoded: Bool = true) {
        (self.resolution, self.wantsDecoded) = (resolution, wantsDecoded)
    }
}
