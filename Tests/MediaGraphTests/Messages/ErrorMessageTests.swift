import CMediaGraphABI
import Foundation
import GStreamer
import TestSupport
import Testing

@testable import MediaGraph
@testable import MediaGraphCore
@testable import MediaGraphDevices
@testable import MediaGraphElements
@testable import MediaGraphJanus
@testable import MediaGraphRoomLink
@testable import MediaGraphSession

/// Compares the errors of the Swift API, and the descriptions of graphs that lack data, with `Tests/Messages/errors.txt`.
@Suite(.timeLimit(.minutes(10))) struct ErrorMessageTests {
    init() throws { try Nodes.register() }

    @Test("SE-5 GR-6 the Swift API's errors are as in the list errors.txt, and each case is in it")
    func errors() async throws {
        var listing = Listing()
        try await sessions(&listing)
        try contexts(&listing)
        try video(&listing)
        try audio(&listing)
        try await pipes(&listing)
        try await graphs(&listing)
        try other(&listing)
        await servers(&listing)
        lackOfData(&listing)
        let missing = Set(MediaGraphError.Code.allCases).subtracting(listing.codes)
        #expect(missing.isEmpty, "errors.txt shows no error of these cases: \(missing)")
        if let differences = try MessageList("errors.txt").differences(from: listing.sections) {
            Issue.record("\(differences)")
        }
    }

    private func servers(_ listing: inout Listing) async {
        listing.heading = "## Janus servers"
        janusSettings(&listing)
        let client = JanusClient(.socket(path: "/no/such/socket"))
        await listing.add("room.join(\"alice\", display: \"\")  // the client isn't started") {
            _ = try await VideoRoom("lobby", client: client).join("alice", display: "")
        }
        await listing.add("client.start()  // nothing listens there") {
            await client.start()
            for await event in client.events { if case .failed(let error) = event { throw error } }
        }
    }

    private func janusSettings(_ listing: inout Listing) {
        for address in ["ws://10.0.0.1:8188", "http://me:password@10.0.0.1/janus"] {
            listing.add("JanusServer(\"\(address)\")") { _ = try JanusServer(address) }
        }
        for reference in ["1234", "env:NO_SUCH_VARIABLE", "file:/no/such/file"] {
            listing.add("Secret(\"\(reference)\", of: \"room-pin\")") { _ = try Secret(reference, of: "room-pin") }
        }
    }

    // MARK: Sessions

    /// The room's name, which no other test uses.
    private let room = "error messages"

    private func sessions(_ listing: inout Listing) async throws {
        listing.heading = "## Sessions"
        let alice = try session("alice", room)
        await listing.add("session.audioHelper.subscribe()  // not joined yet") { try alice.audioHelper.subscribe() }
        await listing.add("session.shareHelper.startSharing(source)  // not joined yet") {
            try await alice.shareHelper.startSharing(RecordingShare())
        }
        await listing.add("session.preview.subscribe(delegate, resolution: .p90)  // no camera") {
            try alice.preview.subscribe(PipeLog(), resolution: .p90)
        }
        await listing.add("session.videoHelper.enableAlphaChannel(true)  // no mask") {
            try alice.videoHelper.enableAlphaChannel(true)
        }
        try await alice.join()
        await listing.add("session.join()  // joined already") { try await alice.join() }
        await listing.add("session.user(\"bob\")  // nobody else is in the room") { _ = try alice.user("bob") }
        await listing.add("session.shareHelper.pause()  // nothing is shared") {
            try await alice.shareHelper.pause()
        }
        await listing.add("session.shareHelper.startSharing(nil)") { try await alice.shareHelper.startSharing(nil) }
        await listing.add("session.shareHelper.startSharing(source, playLocally: true)  // no audio source") {
            try await alice.shareHelper.startSharing(RecordingShare(), playLocally: true)
        }
        await listing.add("session.shareHelper.startSharing(source, audioSource: source, playLocally: true)") {
            try await alice.shareHelper.startSharing(
                RecordingShare(), audioSource: RecordingShare(), playLocally: true)
        }
        let bob = try session("bob", room)
        try await bob.join()
        #expect(try await eventually { (try? alice.user("bob")) != nil })
        await listing.add("session.user(\"carol\")  // bob is in the room") { _ = try alice.user("carol") }
        await listing.add("session.user(\"bob\").sharePipe  // bob shares nothing") {
            _ = try alice.user("bob").sharePipe
        }
        let pipe = try alice.user("bob").videoPipe
        let delegate = PipeLog()
        await listing.add("pipe.unsubscribe(delegate)  // not subscribed") { try await pipe.unsubscribe(delegate) }
        try pipe.subscribe(delegate, resolution: .p360)
        let other = try session("bob", room)
        await listing.add("session.join()  // another user has this name") { try await other.join() }
        await alice.leave()
        await bob.leave()
        let stopped = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try await alice.join()
        }
        await listing.add("session.join()  // in a task that was cancelled") { try await stopped.value }
        let camera = try session("alice", room) { $0.camera = "v4l2src device=/dev/video77" }
        await listing.add("session.join()  // camera = \"v4l2src device=/dev/video77\"") { try await camera.join() }
    }

    private func contexts(_ listing: inout Listing) throws {
        listing.heading = "## A session's context"
        final class Source: VideoSource {
            func startSend() {}
            func stopSend() {}
        }
        struct Processor: VideoProcessor, Sendable {
            func process(_ frame: inout VideoFrame) -> Verdict { .pass }
        }
        func add(_ settings: String, _ edit: (inout SessionContext) -> Void) {
            listing.add("Session(context)  // \(settings)") { _ = try session("alice", "room", edit) }
        }
        add("user = \"a/b\"") { $0.user = "a/b" }
        add("room = \"\"") { $0.room = "" }
        // Other tests register transports of their own.
        let kinds = RoomTransportKind.requirement(violatedBy: "nosuch") ?? ""
        listing.add("Session(context)  // transport = \"nosuch\"", replacing: (kinds, "room")) {
            _ = try session("alice", "room") { $0.transport = "nosuch" }
        }
        add("camera and externalVideoSource") {
            $0.camera = "videotestsrc"
            $0.externalVideoSource = Source()
        }
        add("preProcessor without camera") { $0.preProcessor = Processor() }
        add("camera = \"nosuch\"") { $0.camera = "nosuch" }
    }

    // MARK: Sending

    private func video(_ listing: inout Listing) throws {
        listing.heading = "## Sending video"
        let source = RecordingSource(capabilities: [
            VideoCapability(width: 16, height: 16, framesPerSecond: Fraction(10, 1))
        ])
        let harness = try videoSourceHarness(["backpressure": "drop-old", "max-frames": "99"], source: source)
        let bytes = patternedFrame(width: 16, height: 16)
        func add(_ call: String, _ bytes: [UInt8], _ frame: FrameDescription) {
            listing.add(call) { try sendNow(source.sender, bytes, frame) }
        }
        add(
            "sender.send(bytes, 16×16 I420)  // 10 bytes", [UInt8](repeating: 0, count: 10),
            .init(width: 16, height: 16))
        add("sender.send(bytes, -1×16)", bytes, .init(width: -1, height: 16))
        add(
            "sender.send(bytes, 8×8)  // the source declared 16×16", patternedFrame(width: 8, height: 8),
            .init(width: 8, height: 8))
        listing.add("sender.send(bytes, frame)  // every 50 ms; the source declared 10 frames/s") {
            for index in 0..<20 {
                var frame = FrameDescription(width: 16, height: 16)
                frame.timestamp = .milliseconds(UInt64(index) * 50)
                try sendNow(source.sender, bytes, frame)
            }
        }
        harness.element.setState(.ready)
        add("sender.send(bytes, frame)  // before startSend", bytes, .init(width: 16, height: 16))
    }

    private func audio(_ listing: inout Listing) throws {
        listing.heading = "## Sending audio"
        let mic = try MicHarness()
        listing.add("sender.send(samples, sampleRate: 44000)") { try sendNow(mic.sender, [0, 0], rate: 44_000) }
        listing.add("sender.send(samples, sampleRate: 48000, channelCount: 3)") {
            try sendNow(mic.sender, [0, 0, 0], channels: 3)
        }
        listing.add("sender.send(samples, sampleRate: 48000, channelCount: 2)  // stereo=false") {
            try sendNow(mic.sender, [0, 0], channels: 2)
        }
        listing.add("sender.send(samples, sampleRate: 48000)  // no samples") { try sendNow(mic.sender, []) }
        listing.add("sender.send(samples, sampleRate: 48000)  // an hour of samples") {
            try sendNow(mic.sender, [Int16](repeating: 0, count: 48_000 * 3600))
        }
    }

    // MARK: Receiving

    private func pipes(_ listing: inout Listing) async throws {
        listing.heading = "## Pipes and handlers"
        let graph = try Graph(
            """
            videotestsrc name=video is-live=true ! tee name=t ! queue name=a ! appsink name=sink
            t. ! queue name=b ! rawdatapipe name=stack memory-mode=stack
            """)
        let pipe = try graph.rawDataPipe("sink")
        try pipe.receive { _ in }
        await listing.add("pipe.receive { … }  // has a handler already") { try pipe.receive { _ in } }
        await listing.add("pipe.receiveNative { … }  // of an appsink") { try pipe.receiveNative { _ in } }
        await listing.add("pipe.frames  // memory-mode=stack") { _ = try graph.rawDataPipe("stack").frames }
        let encoded = try Graph("videotestsrc ! x264enc ! rawdatapipe name=pipe buffer-type=encoded")
        await listing.add("pipe.frames  // buffer-type=encoded") { _ = try encoded.rawDataPipe("pipe").frames }
        await listing.add("pipe.set(\"resolution\", parsing: \"huge\")") {
            try graph.rawDataPipe("stack").set("resolution", parsing: "huge")
        }
        await listing.add("pipe.set(\"nosuch\", to: 1)") { try graph.rawDataPipe("stack").set("nosuch", to: Int32(1)) }
        await listing.add("graph.rawDataPipe(\"t\")  // a tee") { _ = try graph.rawDataPipe("t") }
        await listing.add("graph.rawDataPipe(\"nosuch\")") { _ = try graph.rawDataPipe("nosuch") }
    }

    private func graphs(_ listing: inout Listing) async throws {
        listing.heading = "## Graphs"
        await listing.add("Graph(\"fakesrc ! fakesnik\")") { _ = try Graph("fakesrc ! fakesnik") }
        let graph = try Graph("appsrc name=s is-live=true ! appsink  appsrc name=t is-live=true ! appsink")
        let node = try graph.videoSource("s")
        try node.attach(RecordingSource())
        await listing.add("source.attach(…)  // a source is attached already") { try node.attach(RecordingSource()) }
        await listing.add("graph.endAfter(frames: 0)") { try graph.endAfter(frames: 0) }
        try await graph.start()
        await listing.add("graph.start()  // runs already") { try await graph.start() }
        await listing.add("source.detach()  // while the graph runs") { try node.detach() }
        await listing.add("graph.videoSource(\"t\")  // an appsrc, while the graph runs") {
            _ = try graph.videoSource("t")
        }
        await graph.stop()
        let failing = try Graph(
            "videotestsrc name=source num-buffers=1 ! video/x-raw,width=32 ! identity ! capsfilter name=f ! fakesink")
        try failing.element("f").setProperty("caps", parsing: "video/x-raw,width=64")
        await listing.add("graph.run()  // no common format") { try await failing.run() }
    }

    // MARK: Other errors

    private func other(_ listing: inout Listing) throws {
        listing.heading = "## Devices"
        // Values of GstResourceError.
        for (call, code, wasRunning) in [
            ("the device is open elsewhere", 4, false), ("the device may not be opened", 15, false),
            ("there is no such device", 3, false), ("the device is unplugged while it runs", 9, true),
        ] {
            listing.add("graph.run()  // \(call)") {
                let error = GLibError(domain: "gst-resource-error-quark", code: code, message: "the element's text")
                throw try #require(
                    DeviceFailure.error(error, device: "HD Webcam (/dev/video0)", wasRunning: wasRunning))
            }
        }
        listing.heading = "## Resources and other copies of the code"
        listing.add("frame.retain()  // all buffers of the pool are retained") { throw MediaGraphError.poolLimit }
        listing.add("pipe.receive { … }  // of an appsink whose graph was deallocated") {
            let element = try #require(Element(factory: "appsink"))
            try MediaGraphError.check { error in
                StockVTable.answer(
                    UnsafeMutableRawPointer(element.element).assumingMemoryBound(to: GstElement.self), error,
                    as: StockPipe.self
                ) { _ in }
            }
        }
        listing.add("session.join()  // a node of the session is missing") {
            throw MediaGraphError(GraphError.noSuchNode(name: "camera", known: ["mic"]), "the session")
        }
        listing.add("a method of a source that throws its own error") {
            struct Disconnected: Error {}
            throw MediaGraphError.wrapping(Disconnected(), "the source")
        }
        let folder = try TemporaryFolder()
        let (base, time) = (folder.file("rooms"), VirtualClock())
        let directory = RoomDirectory(room: "r", base: base, clock: TimerClock(time))
        let entry = try directory.enter()
        let lock = try #require(try FileLock("\(base)/lock"))
        listing.add(
            "session.join()  // process 1234 holds the rooms' lock and is stopped", replacing: (folder.path, "/here"),
            ("\(ProcessInfo.processInfo.processIdentifier)", "1234")
        ) {
            _ = try directory.enter {
                time.advance(by: .milliseconds(100))
                return true
            }
        }
        withExtendedLifetime((entry, lock)) {}
    }

    private func lackOfData(_ listing: inout Listing) {
        listing.heading = "## Graphs without data"
        let encoder = StarvedSink.Encoder(name: "x264enc0", lowDelaySetting: "tune=zerolatency")
        let causes: [(String, StarvedSink.Cause)] = [
            ("a closed valve", .closedValve("valve0")),
            ("an error that no element posted", .formatConflict("a can't be linked to b: …")),
            ("a decoder that found no matching stream", .unlinkedInput(of: "mux")),
            ("a webrtcbin without a peer", .noPeer), ("a udpsink with an unknown host", .noReceiver),
            (
                "an encoder that looks ahead, and a queue that is too small",
                .fullQueue("queue0", level: "200 buffers, 6.6 s", blockedBy: "view", encoder: encoder)
            ),
            ("a tee without queues", .sharedThread(splitter: "tee0", blockedBy: "view")),
            ("an element whose outputs share a thread", .sharedThread(splitter: nil, blockedBy: "view")),
            ("a source that nobody sends to", .silentSource("udpsrc0", address: "0.0.0.0:5004")),
            ("an element that holds its data back", .nothingPassed(from: "v4l2src0")), ("another cause", .unknown),
        ]
        for (name, cause) in causes { listing.show(name, StarvedSink(sink: "sink", cause: cause)) }
        listing.heading = "## Data that was lost"
        let losses: [(String, StreamLoss)] = [
            ("two damaged pictures", .undecodablePictures(decoder: "jpegdec0", count: 2, of: 9)),
            ("a microphone that is silent", .silence(source: "pulsesrc0")),
            ("a file that was cut", .truncatedInput("a.mkv", end: .milliseconds(1500), duration: .seconds(9))),
            (
                "a phone's video, encoded without its orientation",
                .lostOrientation(writer: "x264enc0", VideoOrientation(tag: "rotate-90")!)
            ),
            ("a file with audio, of which only the video is linked", .unusedAudio(source: "file", muxer: "mux")),
            ("graph.endAfter(frames: 9), and fewer frames", .fewerFrames(at: "sink", limit: 9)),
            ("a udpsink that had no receiver", .unsent(sink: "udpsink0")),
        ]
        for (name, loss) in losses { listing.show(name, loss) }
    }
}

/// The sections of `errors.txt`, and the cases of `MediaGraphError` among them.
private struct Listing {
    private(set) var sections: [MessageList.Section] = []
    private(set) var codes: Set<MediaGraphError.Code> = []
    var heading: String?

    /// Adds the error that a call throws.
    mutating func add(_ call: String, replacing changes: (String, by: String)..., body: () throws -> Void) {
        do { try body() } catch { return add(call, error, changes) }
        Issue.record("this doesn't throw: \(call)")
    }

    mutating func add(_ call: String, _ body: () async throws -> Void) async {
        do { try await body() } catch { return add(call, error, []) }
        Issue.record("this doesn't throw: \(call)")
    }

    private mutating func add(_ call: String, _ error: any Error, _ changes: [(String, by: String)]) {
        var text = "\(error)"
        for (old, new) in changes { text = text.replacing(old, with: new) }
        if let error = error as? MediaGraphError {
            codes.insert(error.code)
            text = "\(error.code): \(text)"
        }
        append(call, text)
    }

    /// Adds the description of a value.
    mutating func show(_ name: String, _ value: some CustomStringConvertible) { append(name, value.description) }

    private mutating func append(_ input: String, _ text: String) {
        sections.append(MessageList.Section(heading: heading, input: [input], text: text))
        heading = nil
    }
}
