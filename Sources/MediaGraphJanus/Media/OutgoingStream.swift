import GStreamer
import MediaGraphCore
import MediaGraphSession
import Synchronization

/// Encodes one stream of a local user, while a remote user wants it, and feeds it into an m-line. A stream that arrives encoded
/// is fed as it is.
final class OutgoingStream: Sendable {
    /// What happens to the stream.
    enum Change: Sendable {
        /// Receivers should hear of the details at once.
        case details
        /// It arrives in a format that needs another m-line.
        case format
        /// It arrives in a format that can't be sent.
        case unsendable(Caps)
    }

    private let reader: StreamReader
    /// What sends the stream, and the highest resolution that is wanted; `nil` while nobody wants it.
    private let state = Mutex<(stream: RoomStream, demand: Resolution)?>(nil)
    /// The pad of the m-line.
    private let output: Pad
    private let packets: OutgoingPackets
    let ssrc: UInt32

    /// Adds the elements to a pipeline, and links them to the pad of an m-line. Throws `processingFailed` if an element is
    /// missing. `report` is called on a streaming thread.
    init(
        _ key: StreamKey, _ format: MediaFormat, to pad: Pad, in pipeline: Pipeline, clock: TimerClock,
        report: @escaping @Sendable (Change) -> Void
    ) throws(MediaGraphError) {
        let encoder: Element
        do { encoder = try Element(parsing: format.elements) } catch {
            throw .processingFailed(.init("\(key.user)'s \(key.kind.rawValue)", actual: "can't be encoded: \(error)"))
        }
        let source = StreamSource(key, for: "janus", clock: clock) { caps in
            guard !format.takes(caps) else { return false }
            report(MediaFormat.canSend(caps) ? .format : .unsendable(caps))
            return true
        }
        guard let source, let input = encoder.staticPad("sink"), let end = encoder.staticPad("src")
        else {
            throw .processingFailed(.init("\(key.user)'s \(key.kind.rawValue)", actual: "its encoder can't be created"))
        }
        (reader, output, ssrc) = (source.reader, pad, format.ssrc)
        packets = OutgoingPackets(isSound: key.kind.isSound) { report(.details) }
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
