import GStreamer
import MediaGraphSession

extension Session {
    /// The numbers of the streams that the session sends and reads, every second while the user is in the room (Agora's
    /// onRtcStats, onLocalVideoStats and onRemoteVideoStats; ZEGO's onPublisherQualityUpdate and onPlayerQualityUpdate).
    /// The stream ends when the session is released.
    ///
    /// Any number of tasks may read them. Each access makes a stream of its own, which holds only the newest numbers for a
    /// slow reader.
    public var statistics: AsyncStream<[StreamStatistics]> { statisticsReaders.makeStream() }

    /// The numbers of the last second; empty while the user isn't in the room.
    var latestStatistics: [StreamStatistics] {
        (try? sessionGraph.element.property("streams", as: Structure.self)).map(StreamStatistics.all) ?? []
    }
}
