import GStreamer
import MediaGraphSession

/// The numbers of a session's streams in one second.
public struct SessionStatistics: Sendable, Hashable {
    /// The name of the `mediasession`.
    public var node: String
    /// The numbers of the streams that the session's user sends, and of those that the session reads. Empty when there are
    /// no such streams any more.
    public var streams: [StreamStatistics]

    /// Creates statistics.
    public init(node: String, streams: [StreamStatistics]) { (self.node, self.streams) = (node, streams) }

    /// `nil` for any other message than that of a session's statistics.
    init?(_ message: Structure, of element: String) {
        guard message.name == SessionMessage.statisticsName else { return nil }
        self.init(node: element, streams: StreamStatistics.all(in: message))
    }
}

extension Session {
    /// The numbers of the streams that the session sends and reads, every second while the user is in the room (Agora's
    /// onRtcStats, onLocalVideoStats and onRemoteVideoStats; ZEGO's onPublisherQualityUpdate and onPlayerQualityUpdate).
    /// The sequence ends when the session is left.
    ///
    /// Any number of tasks may read them. Each access makes a sequence of its own, which holds the newest 16 values for a
    /// slow reader.
    public var statistics: some AsyncSequence<[StreamStatistics], Never> & Sendable {
        graph.streamStatistics.map(\.streams)
    }

    /// The numbers of the last second; empty while the user isn't in the room.
    var latestStatistics: [StreamStatistics] {
        (try? sessionGraph.element.property("streams", as: Structure.self)).map(StreamStatistics.all) ?? []
    }
}
