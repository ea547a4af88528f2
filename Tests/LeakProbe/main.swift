import Foundation
import GStreamer
import MediaGraph
import Synchronization
import TestSupport

// Runs one scenario and then gst_deinit(), so that GStreamer's leaks tracer reports the objects that are still alive.
// The tests run this program as a child with GST_TRACERS=leaks and read its standard error.

/// Waits until all graphs have been released and have stopped. Both may happen in the background. Never returns if a
/// graph leaks, which the test reports as a probe that doesn't end.
func settle() async {
    await withCheckedContinuation { done in Graph.lives.notify(queue: .global()) { done.resume() } }
}

/// Gives sessions time to release what they hold in other places too.
func settleSessions() async throws { try await Task.sleep(for: .seconds(1)) }

let scenario = CommandLine.arguments.dropFirst().first ?? ""
// The first object that the program makes.
switch scenario {
case "session-first": _ = try Session(SessionContext(user: "alice", room: "session-first"))
case "buffer-first": _ = Buffer(size: 16)!
case "wrapped-buffer-first":
    _ = Buffer(wrapping: .allocate(byteCount: 16, alignment: 1), context: nil, release: nil)
case "shared-memory-first": _ = SharedMemory(size: 4096)!.buffer(count: 16) {}!
default: break
}
try Nodes.register()

/// Changes an element's state in random order.
func walkStates(_ factory: String) {
    var random = UInt64(42)
    for _ in 0..<50 {
        let pipeline = Pipeline()
        let element = Element(factory: factory)!
        pipeline.add(element)
        for _ in 0..<6 {
            random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            let state = State.allCases[Int(random >> 33) % State.allCases.count]
            element.setState(state)
        }
        element.setState(.null)
        pipeline.setState(.null)
    }
}

/// Runs a description to its end.
func run(_ text: String) async throws {
    let graph = try Graph(text)
    _ = try await graph.run()
}

/// Keeps some frames of a stream and releases others.
func keepFrames() async throws {
    let graph = try Graph(
        "videosource handler=counter pace=fast options=\"frames=200,width=160,height=90\" ! rawdatapipe name=p")
    var kept: [OwnedVideoFrame] = []
    let frames = try graph.rawDataPipe("p").frames
    try await graph.start()
    for try await frame in frames {
        if kept.count > 5 { kept.remove(at: 2) }
        kept.append(frame)
    }
    await graph.stop()
    let last = try kept.last!.packedBytes()
    precondition(last.count == VideoFormat.i420.packedLength(width: 160, height: 90))
}

/// Users who join and leave; blocks that are kept, and an editor, in a live graph that is stopped while it runs.
func keepBlocks() async throws {
    let pipeline = try Pipeline(
        parsing: "audiotestsrc is-live=true samplesperbuffer=480 ! virtualspeaker name=s handler=level")
    pipeline.setState(.playing)
    for round in 0..<5 {
        let source = Element(factory: "audiotestsrc")!
        try source.setProperty("is-live", to: true)
        pipeline.add(source)
        let speaker = pipeline.element(named: "s")!
        let pad = speaker.requestPad("user_r\(round)")!
        _ = source.staticPad("src")!.link(to: pad)
        source.syncState()
        try await Task.sleep(for: .milliseconds(30))
        source.setState(.null)
        speaker.releasePad(pad)
        pipeline.remove(source)
    }
    pipeline.setState(.null)

    let graph = try Graph("audiotestsrc is-live=true ! virtualspeaker name=s")
    let speaker = try graph.virtualSpeaker("s")
    try speaker.edit { frame in
        var samples = frame.mutableSamples
        for index in samples.indices { samples[index] /= 2 }
        return .pass
    }
    var kept: [OwnedAudioFrame] = []
    let audio = try speaker.audio
    try await graph.start()
    for try await block in audio {
        kept.append(block.frame)
        if kept.count > 20 { break }
    }
    await graph.stop()
    let last = try kept.last!.samples()
    precondition(!last.isEmpty)
}

/// An element as a function on buffers: with properties set, with buffers refused and failing, and released at each
/// point.
func filter() throws {
    let caps = Caps("video/x-raw,format=RGBA,width=4,height=2,framerate=30/1")!
    for round in 0..<20 {
        let filter = try BufferFilter("videoflip")
        for turn in ["90r", "identity", "180"].prefix(round % 4) {
            try filter.set("video-direction", to: turn)
            _ = try filter.apply(Buffer(size: 32)!, caps: caps).access.size
            _ = try? filter.apply(Buffer(size: 3)!, caps: caps).access.size
            _ = try? filter.apply(Buffer(size: 32)!, caps: Caps("audio/x-raw")!).access.size
        }
    }
    _ = try? BufferFilter("fakesink")
}

final class Delegate: RawDataDelegate {
    func received(_ frame: borrowing VideoFrame, from pipe: PipeIdentity) throws { _ = try frame.retain() }
}

/// Delegates that stay subscribed, unsubscribe, and are released, with frames converted and mirrored, and `src` linked.
func subscribeInAllWays(_ policy: String) async throws {
    let graph = try Graph(
        """
        videosource handler=counter pace=fast options="frames=60,width=64,height=32" !
        rawdatapipe name=p backpressure=\(policy) apply-mirror=true engine-render=true ! fakesink
        """)
    let pipe = try graph.rawDataPipe("p")
    let (stays, leaves) = (Delegate(), Delegate())
    do {
        let forgotten = Delegate()
        try pipe.subscribe(forgotten, resolution: .p90)
    }
    try pipe.subscribe(stays, resolution: .native)
    try pipe.subscribe(leaves, resolution: .p90)
    try await graph.start()
    try? pipe.subscribe(stays, resolution: .p90)
    try await pipe.unsubscribe(leaves)
    _ = try await graph.waitUntilEnd()
    await graph.stop()
    withExtendedLifetime((stays, leaves)) {}
}

/// Masks that are switched on and off, a mask that doesn't exist, and the handlers that keep pictures and converters.
func people() async throws {
    let graph = try Graph(
        """
        videosource handler=counter pace=fast options="frames=60,width=160,height=90" ! alphachannel name=a !
        tee name=t ! queue ! rawdatapipe name=p
        t. ! queue ! videoconvert ! preprocessor handler=despill ! preprocessor handler=background options=blur=8 !
        preprocessor handler=blur ! preprocessor handler=watermark options=clock=%T ! fakesink
        """)
    // Captures the element, not the node: a handler that retains its own graph would never be released.
    let alpha = try graph.element("a")
    try graph.rawDataPipe("p").receive { frame in try alpha.setProperty("enabled", to: frame.alpha == nil) }
    _ = try await graph.run()
    // A mask that returns the same buffer that it got.
    _ = try await Graph(
        """
        videotestsrc num-buffers=20 ! video/x-raw,format=A420,width=64,height=36 !
        alphachannel mask=capsfilter enabled=true ! fakesink
        """
    ).run()
    let element = Element(factory: "alphachannel")!
    try element.setProperty("mask", to: "nosuchmask")
    let isSupported = try element.property("supported", as: Bool.self)
    precondition(!isSupported)
}

/// Microphones with named handlers, with a device, and with a graph that is stopped while they send.
func microphones() async throws {
    for _ in 0..<10 {
        try await run(
            "virtualmic pace=fast handler=tone options=\"seconds=1,rate=44100\" ! audio/x-raw,rate=48000 ! fakesink")
        try await run("audiotestsrc num-buffers=20 ! virtualmic pace=fast handler=gain options=db=3 ! fakesink")
        let graph = try Graph("virtualmic handler=tone ! fakesink")
        try await graph.start()
        await graph.stop()
    }
}

/// Sends ten frames and the end of the stream.
final class Sender: VideoSource {
    private let sender = Mutex<VideoSender?>(nil)
    private let thread = Mutex<NativeThread?>(nil)
    func initialize(sender: VideoSender, supported: [VideoCapability], suggested: VideoCapability?) {
        self.sender.withLock { $0 = sender }
    }
    func startSend() {
        let sender = sender.withLock { $0 }
        let new = NativeThread("probe") {
            for _ in 0..<10 {
                try? sender?.send([UInt8](repeating: 7, count: 96), FrameDescription(width: 16, height: 4))
            }
            sender?.endOfStream()
        }
        thread.withLock { $0 = new }
    }
    func stopSend() {}
    func uninitialize() {
        // The thread ends, because its frames are refused by now. It holds the sender, which the leak tracer would report.
        thread.withLock { $0.take() }?.join()
        sender.withLock { $0 = nil }
    }
}

/// Stock elements as a source and a pipe: never run, run once, and run twice and released while they run again.
func stock() async throws {
    for runs in 0..<3 {
        let graph = try Graph(
            "appsrc name=s ! tee name=t ! queue ! appsink name=a sync=false  t. ! queue ! appsink name=b")
        let delegate = Delegate()
        try graph.videoSource("s").attach(Sender())
        try graph.rawDataPipe("a").receive { _ in }
        try graph.rawDataPipe("b").subscribe(delegate, resolution: .p90)
        for _ in 0..<runs { _ = try await graph.run() }
        if runs == 2 { try await graph.start() }
    }
}

/// Handlers that capture a node and thereby retain their own graph. Detaching them releases the graph.
func handlersThatHoldTheirGraph() async throws {
    let graph = try Graph(
        """
        videosource name=s pace=fast ! preprocessor name=e ! frameobserver name=o ! tee name=t ! queue !
        rawdatapipe name=p  t. ! queue ! appsink name=k
        """)
    let (source, editor, observer) = try (
        graph.videoSource("s"), graph.preprocessor("e"), graph.frameObserver("o")
    )
    let (pipe, sink) = try (graph.rawDataPipe("p"), graph.rawDataPipe("k"))
    try source.attach(Sender())
    try editor.process { _ in editor.name.isEmpty ? .drop : .pass }
    try observer.observe { _ in observer.name.isEmpty ? .drop : .pass }
    for pipe in [pipe, sink] { try pipe.receive { _ in _ = pipe.name } }
    _ = try await graph.run()
    try editor.detach()
    try observer.detach()
    for pipe in [pipe, sink] { try pipe.detach() }
}

/// A camera and a microphone that are unplugged and return ten times, and are unplugged at the end.
func unplugDevices() async throws {
    for policy in ["slate", "gap"] {
        let device = PluggableDevice("probe")
        let graph = try Graph(
            """
            devicesource name=camera reconnect=\(policy) source="testcamera device=probe" ! video/x-raw,format=BGRA !
            rawdatapipe name=p
            devicesource name=mic reconnect=\(policy) source="testmicrophone device=probe" ! virtualspeaker handler=count
            """)
        let clocks = ["camera": VirtualClock(), "mic": VirtualClock()]
        for (name, clock) in clocks { try graph.useClock(clock, ofDevices: name) }
        let back = Mutex(0)
        let watching = Task {
            for await event in graph.events {
                if case .deviceBack = event { back.withLock { $0 += 1 } }
            }
        }
        try await graph.start()
        for round in 1...5 {
            device.state = .missing
            // Both wait for a second before they look for the device again.
            for clock in clocks.values {
                let isAway = try await eventually { clock.deadlines.contains(.seconds(1)) }
                precondition(isAway)
            }
            device.state = .there
            for clock in clocks.values {
                let hasPassed = try await clock.pass(.seconds(1))
                precondition(hasPassed)
            }
            let isBack = try await eventually { back.withLock { $0 } == 2 * round }
            precondition(isBack)
        }
        device.state = .missing
        for clock in clocks.values {
            let isAway = try await eventually { clock.deadlines.contains(.seconds(1)) }
            precondition(isAway)
        }
        await graph.stop()
        await watching.value
    }
    await settle()
}

switch scenario {
case "stock": try await stock()
case "cycles": try await handlersThatHoldTheirGraph()
case "people":
    try await people()
case "filter":
    try filter()
case "states":
    for node in Nodes.factoryNames { walkStates(node) }
case "states-from-threads":
    let pipeline = try Pipeline(
        parsing: "videosource handler=counter ! preprocessor handler=invert ! rawdatapipe handler=count name=p")
    let threads = (0..<4).map { thread in
        NativeThread("states") {
            for round in 0..<50 { pipeline.setState(State.allCases[(round * 7 + thread * 3) % 4]) }
        }
    }
    // Until a thread has ended, it holds the pipeline.
    for thread in threads { thread.join() }
    pipeline.setState(.null)
case "graph":
    for _ in 0..<10 {
        try await run(
            """
            videosource handler=counter pace=fast options="frames=30,width=99,height=33" ! preprocessor handler=grayscale !
            tee name=t ! queue ! rawdatapipe handler=count format=BGRA resolution=90p  t. ! queue ! rawdatapipe
            """)
    }
case "live-graph":
    for _ in 0..<3 {
        let graph = try Graph("videosource handler=counter ! rawdatapipe name=p backpressure=drop-new max-frames=1")
        try graph.rawDataPipe("p").receive { _ in Thread.sleep(forTimeInterval: 0.05) }
        try await graph.start()
        // The handler is slow, so its pipe drops frames.
        let pipe = try graph.rawDataPipe("p")
        let drops = try await eventually { pipe.statistics.dropped > 3 }
        precondition(drops)
        await graph.stop()
    }
case "microphone":
    try await microphones()
case "share":
    try await shares()
    try await scaled()
    try await settleSessions()
case "session":
    try await sessions()
    try await settleSessions()
case "device":
    try await unplugDevices()
case "frames":
    try await keepFrames()
case "delegates":
    for policy in ["block", "drop-old"] { try await subscribeInAllWays(policy) }
case "speaker":
    for source in ["audiotestsrc num-buffers=20", "audiotestsrc is-live=true num-buffers=5"] {
        for handler in ["count", "level"] {
            try await run(
                """
                virtualspeaker name=s handler=\(handler) rate=16000 ! fakesink async=false  \(source) ! s.user_anna
                \(source) ! audio/x-raw,format=S16LE,rate=16000,channels=1 ! s.  \(source) ! s.shared
                """)
        }
    }
    try await keepBlocks()
case "dropped-graph":
    // The graph isn't stopped explicitly; its release must stop it.
    do {
        let graph = try Graph("videosource handler=counter ! rawdatapipe handler=count")
        try await graph.start()
    }
case "errors":
    for text in [
        "videosource handler=nosuch ! rawdatapipe", "videotestsrc ! rawdatapipe handler=count options=x=1",
        "videotestsrc num-buffers=3 ! video/x-raw,format=GRAY8 ! preprocessor handler=invert ! fakesink",
    ] {
        do { try await run(text) } catch {}
    }
case "session-first": try await settleSessions()
case "buffer-first", "wrapped-buffer-first", "shared-memory-first": break
case "deliberate-leak":
    leak()
default:
    FileHandle.standardError.write(Data("usage: LeakProbe SCENARIO\n".utf8))
    exit(64)
}

/// Leaks an element, to prove that the tests detect leaks.
func leak() {
    _ = Unmanaged.passRetained(Element(factory: "fakesink", name: "leaked")!)
}

await settle()
GStreamerRuntime.deinitialize()
