import GStreamer
import MediaGraph
import MediaGraphTesting
import Synchronization
import TestSupport
import Testing

/// Tests an `alphachannel` that is turned on and off repeatedly while frames flow.
@Suite(.timeLimit(.minutes(10))) struct AlphaChannelToggleTests {
    init() throws { try Nodes.register() }

    @Test("AL-1 `enabled` notifies once for each change, whatever caused it")
    func notified() throws {
        let element = try #require(Element(factory: "alphachannel"))
        let changes = element.observeChanges(of: "enabled")
        try element.setProperty("enabled", to: true)
        try element.setProperty("enabled", to: true)
        #expect(changes.all == [true])
        try element.setProperty("permitted", to: false)
        try element.setProperty("permitted", to: false)
        #expect(changes.all == [true, false])
        #expect(throws: PropertyError.self) { try element.setProperty("enabled", to: true) }
        try element.setProperty("enabled", to: false)
        try element.setProperty("permitted", to: true)
        #expect(changes.all == [true, false])
        try element.setProperty("enabled", to: true)
        #expect(changes.all == [true, false, true])
    }

    @Test("AL-3 of a hundred toggles from a thread, each visible one has its event right before its frame")
    func announcedInTheStream() throws {
        let element = try #require(Element(factory: "alphachannel"))
        let harness = Harness(element, sink: "sink", source: "src")
        harness.setSourceCaps("video/x-raw,format=I420,width=64,height=32,framerate=30/1")
        let toggles = Atomic<Int>(0)
        let frames = Atomic<Int>(0)
        let toggling = NativeThread("toggles") {
            for round in 0..<100 {
                try? element.setProperty("enabled", to: round % 2 == 0)
                toggles.wrappingAdd(1, ordering: .relaxed)
                // Some toggles get a frame between them, and some don't.
                if round % 3 == 0 {
                    let before = frames.load(ordering: .relaxed)
                    _ = waitUntil { frames.load(ordering: .relaxed) > before }
                }
            }
        }
        var (hadAlpha, changes) = (false, 0)
        // Pushes one more frame after the last toggle, which turned alpha off.
        var isLast = false
        while !isLast {
            isLast = toggles.load(ordering: .relaxed) == 100
            harness.push([UInt8](repeating: 90, count: 64 * 32 * 3 / 2))
            // Events of this frame came before it.
            let announcements = harness.pulledEvents().count { $0 == "custom-downstream-sticky" }
            guard let size = harness.pull()?.bytes.count else {
                Issue.record("no frame came out")
                break
            }
            #expect(size == 64 * 32 * 3 / 2 || size == 64 * 32 * 5 / 2)
            let hasAlpha = size == 64 * 32 * 5 / 2
            #expect(announcements == (hasAlpha != hadAlpha ? 1 : 0))
            if hasAlpha != hadAlpha { changes += 1 }
            hadAlpha = hasAlpha
            frames.wrappingAdd(1, ordering: .relaxed)
        }
        toggling.join()
        #expect(changes >= 2 && !hadAlpha, "\(changes)")
    }

    @Test("AL-3 messages report the changes that frames show, in their order, and no frame is lost")
    func announcedOnTheBus() async throws {
        let graph = try Graph(
            """
            videosource handler=counter pace=fast options="frames=300,width=64,height=36" !
            alphachannel name=a ! rawdatapipe name=p format=A420
            """)
        let alpha = try graph.alphaChannel("a")
        let numbers = Log<UInt32>()
        let shown = Log<Bool>()
        let toggles = Atomic<Int>(0)
        try graph.rawDataPipe("p").receive { frame in
            let number = try FrameNumber.read(frame)
            numbers.add(number)
            shown.add(frame.alpha != nil)
            // Waits for the toggle of each third frame, however busy the machine is.
            if number % 3 == 0 { _ = waitUntil { toggles.load(ordering: .relaxed) >= Int(number) / 3 } }
        }
        let announced = Task { [events = graph.events] in
            var announced: [Bool] = []
            for await event in events { if case .alphaChannel("a", let on) = event { announced.append(on) } }
            return announced
        }
        let toggling = Task.detached {
            for round in 0..<100 {
                // Two toggles between the same frames would hide the first one.
                guard try await eventually({ numbers.all.count >= 3 * round + 2 }) else { return }
                try alpha.enable(round % 2 == 0)
                toggles.wrappingAdd(1, ordering: .relaxed)
            }
        }
        defer { toggling.cancel() }
        try await graph.run()
        try await toggling.value
        #expect(numbers.all == Array(0..<300))
        let changes = zip([false] + shown.all, shown.all).filter { $0 != $1 }.map(\.1)
        #expect(changes.count > 2)
        #expect(await announced.value == changes)
    }
}
