/// What a local user sends, and how a transport encodes it.
package struct SendSettings: Sendable, Hashable {
    /// The streams that the user may send from the beginning. Shares may be added later.
    package var kinds: Set<StreamKind>
    /// The elements that encode video, as a description; if empty, the transport's own. Transports that pass streams on
    /// unencoded don't use it.
    package var videoEncoder: String

    package init(_ kinds: Set<StreamKind> = [], videoEncoder: String = "") {
        (self.kinds, self.videoEncoder) = (kinds, videoEncoder)
    }
}
