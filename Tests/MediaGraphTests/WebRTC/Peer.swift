import GStreamer
import MediaGraph
import MediaGraphTesting
import Synchronization
import TestSupport
import Testing
import WebRTC

/// One side of a connection over 127.0.0.1: a pipeline with a `webrtcbin`, and logs of what happens.
final class Peer: Sendable {
    static let video = "application/x-rtp,media=video,encoding-name=VP8,payload=96,clock-rate=90000"

    let pipeline = Pipeline()
    let connection: PeerConnection
    let texts = Log<String>()
    /// The numbers in the frames that arrive; `nil` for a frame whose number can't be read.
    let numbers = Log<UInt32?>()
    let states = Log<PeerConnection.State>()
    let isOpen = Atomic<Bool>(false)
    private let candidates: AsyncStream<ICECandidate>
    private let report: AsyncStream<ICECandidate>.Continuation

    /// - Parameter description: The elements whose last pad feeds `webrtcbin`; empty for a receiver.
    init(sending description: String = "") throws {
        (candidates, report) = AsyncStream.makeStream()
        connection = try PeerConnection()
        pipeline.add(connection.element)
        pipeline.setState(.ready)
        connection.useAddress("127.0.0.1")
        connection.onEvent { [weak self] in self?.handle($0) }
        guard !description.isEmpty else { return }
        let source = try Element(parsing: description)
        pipeline.add(source)
        let caps = try #require(Caps(Self.video))
        let pad = try #require(connection.addMedia(caps, mLine: 0))
        try #require(source.pads.first?.link(to: pad) == true)
    }

    private func handle(_ event: PeerConnection.Event) {
        switch event {
        case .candidate(let candidate): report.yield(candidate)
        case .state(let state): states.add(state)
        case .media(let pad, _): show(pad)
        case .channelOpened: isOpen.store(true, ordering: .releasing)
        case .text(let text): texts.add(text)
        case .channelClosed: isOpen.store(false, ordering: .releasing)
        }
    }

    /// Decodes a stream, and logs its frames' numbers.
    private func show(_ pad: Pad) {
        let decoder = try? Element(
            parsing: "rtpvp8depay name=in request-keyframe=true wait-for-keyframe=true ! vp8dec name=out", inlet: "in",
            outlet: "out")
        guard let decoder, let sink = AppSink(), let input = decoder.staticPad("sink") else { return }
        sink.setSynchronized(false)
        sink.setPrerolls(false)
        sink.setDelegate(NumberLog(numbers))
        for element in [decoder, sink] { pipeline.add(element) }
        _ = decoder.link(to: sink)
        for element in [sink, decoder] { element.syncState() }
        _ = pad.link(to: input)
    }

    /// Makes this side call the other one.
    func call(_ other: Peer) async throws {
        pipeline.setState(.playing)
        other.pipeline.setState(.playing)
        let offer = try await connection.makeOffer()
        try await connection.setLocal(offer)
        try await other.connection.setRemote(offer)
        let answer = try await other.connection.makeAnswer()
        try await other.connection.setLocal(answer)
        try await connection.setRemote(answer)
        passCandidates(to: other)
        other.passCandidates(to: self)
    }

    private func passCandidates(to other: Peer) {
        Task { [candidates] in for await candidate in candidates { other.connection.add(candidate) } }
    }

    func stop() {
        pipeline.setState(.null)
        connection.close()
        report.finish()
    }
}

private final class NumberLog: AppSinkDelegate, @unchecked Sendable {
    // `@unchecked Sendable`: the log is Sendable and never replaced.
    private let numbers: Log<UInt32?>

    init(_ numbers: Log<UInt32?>) { self.numbers = numbers }

    override func received(_ sample: borrowing Sample) -> FlowReturn {
        guard let info = sample.caps.flatMap({ VideoInfo($0) }), let buffer = sample.buffer else { return .ok }
        let frame = TestFrame(
            .i420Limited, width: info.width, height: info.height, bytes: buffer.bytes(0..<buffer.size))
        numbers.add(try? frame.number)
        return .ok
    }
}
