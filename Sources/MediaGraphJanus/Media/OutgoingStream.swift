import GStreamer
import MediaGraphCore
import MediaGraphSession
import Synchronization

/// Encodes one stream of a local user, while a remote user wants it, and feeds it into an m-line.
final class OutgoingStream: Sendable {
    private let reader: StreamReader
    /// What sends the stream, and the highest resolution that is wanted; `nil` while nobody wants it.
    private let state = Mutex<(stream: RoomStream, demand: Resolution)?>(nil)
    /// The pad of the m-line.
    private let output: Pad
    private let packets: OutgoingPackets
    let ssrc: UInt32

    /// Adds the elements to a pipeline, and links them to the pad of an m-line. Throws `processingFailed` if an element is
    /// missing. `detailsChanged` is called on a streaming thread when receivers should hear of the details at once.
    init(
        _ key: StreamKey, _ format: MediaFormat, to pad: Pad, in pipeline: Pipeline, clock: TimerClock,
        detailsChanged: @escaping @Sendable () -> Void
    ) throws(MediaGraphError) {
        let encoder: Element
        do { encoder = try Element(parsing: format.encoder, inlet: "inlet", outlet: "outlet") } catch {
            throw .processingFailed(.init("\(key.user)'s \(key.kind.rawValue)", actual: "can't be encoded: \(error)"))
        }
        guard let source = StreamSource(key, for: "janus", clock: clock),
            let input = encoder.staticPad("sink"), let end = encoder.staticPad("src")
        else {
            throw .processingFailed(.init("\(key.user)'s \(key.kind.rawValue)", actual: "its encoder can't be created"))
        }
        (reader, output, ssrc) = (source.reader, pad, format.ssrc)
        packets = OutgoingPackets(isSound: key.kind.isSound, changed: detailsChanged)
        packets.watch(input, pad, of: encoder)
        for element in [source.element, encoder] { pipeline.add(element) }
        guard source.element.link(to: encoder), end.link(to: pad) else {
            throw .processingFailed(
                .init("\(key.user)'s \(key.kind.rawValue)", actual: "its encoder can't be linked to webrtcbin"))
        }
        if !key.kind.isSound {
            input.answerAllocation { [weak self] in
                [.video] + (self?.state.withLock { $0?.demand } ?? .native).sufficient
            }
        }
    }

    /// What receivers need to know about the stream's packets.
    var details: OutgoingPackets.Details { packets.details }

    /// Sets the highest resolution that a remote user wants; `nil` if nobody wants the stream. Call it from one thread.
    func setDemand(_ demand: Resolution?, of stream: RoomStream) {
        JanusRoom.log.log(.debug, nil, "\(stream.id) is wanted at \(demand.map { "\($0.rawValue)" } ?? "no size")")
        let old = state.withLock { state in
            defer { state = demand.map { (stream, $0) } }
            return state
        }
        switch (old, demand) {
        case (nil, nil): break
        case (nil, _?):
            stream.add(reader)
            // The receivers' decoders wait for one.
            output.requestKeyFrame()
        case (let old?, nil): old.stream.remove(reader)
        case (let old?, let demand?): if old.demand != demand { reader.negotiate() }
        }
    }

    /// Stops reading the stream.
    func stop() {
        let old = state.withLock { $0.take() }
        old?.stream.remove(reader)
        reader.end()
    }
}
