import GStreamer
import Synchronization
import TestSupport
import Testing

@testable import MediaGraph
@testable import MediaGraphCore
@testable import MediaGraphDevices

/// Tests `devicesource` with devices that hang when they are opened, closed or change state.
@Suite struct DeviceHangTests {
    init() throws { try Nodes.register() }

    @Test("DV-2 a device that hangs while it is opened blocks nobody, and is closed once it answers")
    func hangs() async throws {
        let ended = try DeviceRun("", .stuck)
        let failing = Task { [graph = ended.graph] in try await graph.start() }
        #expect(try await ended.hangs(for: .seconds(5)))
        let error = try await #require(throws: GraphError.self) { try await failing.value }
        guard case .failed(let failure) = error else { throw error }
        #expect(failure.cause?.code == .deviceGone && "\(error)".contains("within 5000 ms"), "\(error)")
        await ended.graph.stop()
        ended.device.state = .there
        #expect(waitUntil { ended.device.closings.load(ordering: .relaxed) == 1 })

        // A graph that waits for its device isn't blocked by a device that hangs when it reappears, and uses it once it
        // answers.
        let run = try DeviceRun("reconnect=slate", .stuck, name: "hangs-then-is-there")
        let starting = Task { [graph = run.graph] in try await graph.start() }
        #expect(try await run.hangs(for: .seconds(2)))
        try await starting.value
        #expect(waitUntil { run.slates >= 3 })
        run.device.state = .there
        #expect(waitUntil { run.back.count == 1 })
        await run.graph.stop()
        #expect(
            waitUntil { run.device.closings.load(ordering: .relaxed) == run.device.openings.load(ordering: .relaxed) })
    }

    @Test("DV-2 a stop doesn't wait for a device that hangs while it is opened or closed", arguments: [false, true])
    func stopsWhileItHangs(closing: Bool) async throws {
        let run = try DeviceRun("reconnect=gap", name: "hangs \(closing)")
        try await run.graph.start()
        #expect(run.deviceGives())
        if closing {
            run.device.state = .stuckInClose
        } else {
            run.device.state = .stuck
            #expect(try await run.clock.pass(DeviceRun.pause))
            #expect(run.device.hangs() && run.device.openings.load(ordering: .relaxed) == 2)
        }
        let stopping = Task { [graph = run.graph] in await graph.stop() }
        #expect(try await run.hangs(for: .milliseconds(closing ? 1500 : 500)))
        await stopping.value
        #expect(run.device.closings.load(ordering: .relaxed) < run.device.openings.load(ordering: .relaxed))
        run.device.state = .missing
        let openings = run.device.openings.load(ordering: .relaxed)
        #expect(waitUntil { run.device.closings.load(ordering: .relaxed) == openings })
    }

    @Test("DV-2 devices are opened at the same time if the graph can run without them")
    func opensTogether() async throws {
        let first = PluggableDevice("opens together 1", .stuck)
        let second = PluggableDevice("opens together 2", .stuck)
        let graph = try Graph(
            [first, second].map {
                "devicesource name=d\($0.name.last!) reconnect=slate "
                    + "source=\"testcamera device=\\\"\($0.name)\\\"\" ! fakesink sync=false"
            }.joined(separator: "  "))
        // Their clock stands still, so neither is abandoned, however busy the machine is.
        try graph.useClock(VirtualClock(), ofDevices: "d1", "d2")
        let events = Log<GraphEvent>()
        graph.listen(Graph.Listener { events.add($0) })
        let starting = Task { try await graph.start() }
        // Each device hangs until the other one is being opened.
        for (device, other) in [(first, second), (second, first)] {
            #expect(try await eventually { other.openings.load(ordering: .relaxed) == 1 })
            device.state = .there
        }
        try await starting.value
        #expect(!events.all.contains { if case .deviceLost = $0 { true } else { false } }, "\(events.all)")
        await graph.stop()
    }

    @Test("DV-2 a hanging device is retried at growing intervals, at most ten times before it answers")
    func pauses() {
        let second: UInt64 = 1_000_000_000
        var position = DeviceState()
        position.node = .playing
        #expect(position.pause == second)
        let pauses = (1...10).map { unanswered in
            position.unanswered = unanswered
            return position.pause / second
        }
        #expect(pauses == [4, 8, 16, 32, 32, 32, 32, 32, 32, 32])
        func next(_ unanswered: Int) -> (job: DeviceState.Job?, deadline: UInt64?) {
            position.unanswered = unanswered
            return position.next(at: 5 * second, stallTimeout: 5 * second)
        }
        position.nextTry = 7 * second
        #expect(next(9).job == nil && next(9).deadline == 7 * second)
        position.nextTry = 5 * second
        guard case .attempt = next(9).job else {
            Issue.record("no attempt")
            return
        }
        #expect(next(10).job == nil && next(10).deadline == nil)
    }

    @Test("DV-2 a thread that waits for a server which hangs makes others wait no longer than their limit")
    func turns() async throws {
        let (turn, clock) = (TimedTurn(0), VirtualClock())
        let isHanging = Atomic<Bool>(true)
        let results = Log<String>()
        NativeThread("hanging") {
            let result = turn.take(within: .seconds(3)) { value in
                results.add("asks")
                _ = waitUntil { !isHanging.load(ordering: .acquiring) }
                value += 1
                return value
            }
            results.add("\(result.map(String.init) ?? "none")")
        }.detach()
        #expect(try await eventually { results.all == ["asks"] })
        NativeThread("waiting") {
            let result = turn.take(within: .seconds(3), on: TimerClock(clock)) { $0 }
            results.add("\(result.map(String.init) ?? "none")")
        }.detach()
        #expect(try await clock.pass(.seconds(3)))
        #expect(try await eventually { results.all == ["asks", "none"] })
        isHanging.store(false, ordering: .releasing)
        #expect(try await eventually { results.all == ["asks", "none", "1"] })
        #expect(turn.take(within: .zero) { $0 } == 1)
    }

    @Test("DV-2 an abandoned device isn't opened any more, but is still closed")
    func unwanted() throws {
        let made = try ElementClass.make(DeviceSourceElement.self)
        let source = ElementClass.implementation(of: made.element, as: DeviceSourceElement.self)
        let asked = Mutex(0)
        source.deviceState.withLock { $0.abandon() }
        #expect(throws: MediaGraphError.self) {
            try source.ask("a device", within: .seconds(60), isOpening: true) { asked.withLock { $0 += 1 } }
        }
        #expect(asked.withLock { $0 } == 0)
        // Closing is still allowed.
        try source.ask("a device", within: .seconds(60)) { asked.withLock { $0 += 1 } }
        #expect(asked.withLock { $0 } == 1)
    }

    @Test("DV-2 a missing device doesn't block other branches of the graph")
    func blocksNoBranch() async throws {
        let run = try DeviceRun(
            "reconnect=gap", .missing,
            then: "videoconvert ! fakesink  videotestsrc is-live=true ! fakesink name=other")
        let frames = Log<ClockTime>()
        try run.graph.element("other").staticPad("sink")?.observeBuffers {
            frames.add($0.presentationTimestamp ?? .zero)
        }
        try await run.graph.start()
        #expect(waitUntil { frames.all.count >= 10 })
        #expect(try await run.deviceReturns())
        guard case .endOfStream = await run.graph.finish(within: .seconds(60)) else {
            Issue.record("the graph didn't end with an end of stream")
            return
        }
    }

    @Test("DV-2 a device is looked for again while the abandoned one still hangs")
    func triesWhileOneHangs() async throws {
        let run = try DeviceRun("reconnect=slate stall-timeout=200000000")
        try await run.graph.start()
        #expect(run.deviceGives())
        // Closing the first device hangs; the device that is opened meanwhile works.
        run.device.state = .stuckInClose
        run.device.isSilent = true
        #expect(run.device.isQuiet())
        #expect(try await run.clock.pass(.milliseconds(200)))
        // The time limits of the call that hangs, and of the pause after it.
        #expect(try await run.hangs(for: .milliseconds(500)))
        #expect(waitUntil { run.lost.count == 1 })
        run.device.isSilent = false
        #expect(try await run.clock.pass(.seconds(4)))
        #expect(waitUntil { run.back.count == 1 })
        #expect(run.device.closings.load(ordering: .relaxed) == 0)
        run.device.state = .there
        #expect(waitUntil { run.device.closings.load(ordering: .relaxed) == 1 })
        await run.graph.stop()
    }

    @Test("DV-2 a graph without its device ends on request, even if it is asked repeatedly")
    func endsWithoutDevice() async throws {
        let run = try DeviceRun("reconnect=gap", .missing)
        try await run.graph.start()
        for _ in 0..<20 { run.graph.requestEndOfStream() }
        guard case .endOfStream = try await run.graph.waitUntilEnd() else {
            Issue.record("the graph ended differently")
            return
        }
        await run.graph.stop()
    }

    @Test(
        "DV-2 the stream ends even if the device hangs at its end, ignores the request, or fails",
        arguments: [PluggableDevice.State.stuckInEndOfStream, .ignoresEndOfStream, .missing])
    func endsWhileItHangs(state: PluggableDevice.State) async throws {
        // The time limits of the call that asks the device, and of its answer. A device that fails needs none.
        let limits: [PluggableDevice.State: Duration] = [
            .stuckInEndOfStream: .milliseconds(1500), .ignoresEndOfStream: .seconds(1),
        ]
        let run = try DeviceRun("reconnect=slate", name: "ends \(state)")
        try await run.graph.start()
        #expect(run.deviceGives())
        run.device.state = state
        if state == .ignoresEndOfStream { #expect(run.device.isQuiet()) }
        run.graph.requestEndOfStream()
        if state == .stuckInEndOfStream { #expect(run.device.hangs()) }
        if let limit = limits[state] { #expect(try await run.clock.pass(limit)) }
        guard case .endOfStream = try await run.graph.waitUntilEnd() else {
            Issue.record("the graph ended differently")
            return
        }
        await run.graph.stop()
        run.device.state = .missing
        #expect(waitUntil { run.device.closings.load(ordering: .relaxed) == 1 })

        let ended = try DeviceRun("", name: "ends \(state) never")
        try await ended.graph.start()
        #expect(ended.deviceGives())
        let other = state == .ignoresEndOfStream ? state : .stuckInEndOfStream
        ended.device.state = other
        if other == .ignoresEndOfStream { #expect(ended.device.isQuiet()) }
        ended.graph.requestEndOfStream()
        if other == .stuckInEndOfStream { #expect(ended.device.hangs()) }
        #expect(try await ended.clock.pass(try #require(limits[other])))
        let error = try await #require(throws: GraphError.self) { _ = try await ended.graph.waitUntilEnd() }
        let expected = state == .ignoresEndOfStream ? "didn't end its stream" : "didn't answer within 1500 ms"
        #expect("\(error)".contains(expected), "\(error)")
        #expect(waitUntil { (try? ended.hasEnded) == true })
        await ended.graph.stop()
        ended.device.state = .missing
    }

    @Test("DV-2 requesting the end of a graph doesn't wait for its devices")
    func endsTogether() async throws {
        let run = try DeviceRun("reconnect=slate", name: "ends together")
        try await run.graph.start()
        #expect(run.deviceGives())
        run.device.state = .stuckInEndOfStream
        let node = try run.graph.element("d")
        node.sendEndOfStream()
        let position = ElementClass.implementation(of: node.element, as: DeviceSourceElement.self).deviceState
        #expect(!position.withLock { $0.isLeft })
        #expect(try await run.hangs(for: .milliseconds(1500)))
        #expect(waitUntil { position.withLock { $0.standIn != nil } })
        await run.graph.stop()
        run.device.state = .missing
    }

    @Test("DV-2 a device that hangs when it pauses is replaced by its stand-in after the pause")
    func hangsInPause() async throws {
        let run = try DeviceRun("reconnect=slate", name: "hangs in a pause")
        try await run.graph.start()
        #expect(run.deviceGives())
        run.device.state = .stuckInPause
        let pausing = Task { [graph = run.graph] in
            await runBlocking { _ = graph.pipeline.setState(.paused) }
        }
        #expect(try await run.hangs(for: .milliseconds(1500)))
        await pausing.value
        // The device can't be opened again either.
        run.device.state = .missing
        run.graph.pipeline.setState(.playing)
        #expect(waitUntil { run.slates >= 3 })
        await run.graph.stop()
    }

    @Test("DV-2 a device that hangs when it starts playing is abandoned")
    func playsWhileItHangs() async throws {
        let run = try DeviceRun("reconnect=slate", .stuckInPlay)
        let starting = Task { [graph = run.graph] in try await graph.start() }
        #expect(try await run.hangs(for: .seconds(2)))
        try await starting.value
        #expect(waitUntil { run.slates >= 3 })
        run.device.state = .there
        #expect(waitUntil { run.back.count == 1 })
        await run.graph.stop()
        #expect(waitUntil { run.device.closings.load(ordering: .relaxed) == 2 })
    }

    @Test(
        "DV-2 a graph pauses and stops while its device returns, even if a sink holds the stand-in's last frame",
        arguments: [State.paused, .null])
    func changesDuringReturn(state: State) async throws {
        // With the offset, the sink holds the stand-in's first frame.
        let run = try DeviceRun(
            "reconnect=slate", .missing, name: "changes during return \(state)",
            then: "fakesink name=end sync=true ts-offset=60000000000")
        try await run.graph.start()
        #expect(try await eventually { run.slates == 1 })
        #expect(try await eventually { run.clock.deadlines.contains(DeviceRun.pause) })
        run.device.state = .there
        run.clock.advance(by: DeviceRun.pause)
        let position = try run.state
        #expect(try await eventually { position.withLock(wakes: false) { $0.hasArrived } })
        // The keeper owns the elements for as long as the sink holds the frame: it is replacing the stand-in.
        #expect(
            try await eventually {
                (0..<50).allSatisfy { _ in
                    sleepBriefly()
                    return position.withLock(wakes: false) { $0.isMoving }
                }
            })
        // A graph that hangs can't be stopped.
        try #require(try await run.changes(to: state))
        await run.graph.stop()
    }

    @Test("DV-2 GR-3 a graph stops although the end of its stream was requested and a sink holds a frame")
    func stopsDuringEnd() async throws {
        let run = try DeviceRun("", then: "fakesink name=end sync=true ts-offset=60000000000")
        let sink = try #require(try run.graph.element("end").staticPad("sink"))
        try await run.graph.start()
        #expect(try await eventually { run.frames == 1 && sink.isReceiving })
        run.graph.requestEndOfStream()
        let position = try run.state
        // The keeper waits for the sink before it asks the device.
        #expect(try await eventually { position.withLock(wakes: false) { $0.ending == .told && $0.isMoving } })
        try #require(try await run.changes(to: .null))
        await run.graph.stop()
    }

    @Test("DV-2 GR-3 a stop waits until a device that hangs was abandoned, however late its thread notices that")
    func stopsBesideSlowThread() async throws {
        let run = try DeviceRun("")
        // Time passes before any thread can react to the end of a wait.
        let clock = RushingClock(run.clock, past: .milliseconds(500))
        try run.graph.element("d").useTimerClock(TimerClock(clock))
        try await run.graph.start()
        #expect(run.deviceGives())
        run.device.state = .stuckInEndOfStream
        run.graph.requestEndOfStream()
        let hangs = await runBlocking { [device = run.device] in device.hangs() }
        #expect(hangs)
        let hasStopped = try await run.changes(to: .null)
        run.device.state = .missing
        #expect(hasStopped)
        await run.graph.stop()
    }
}

/// A clock on which waits of one length end as soon as they begin.
private final class RushingClock: VirtualTime {
    private let clock: VirtualClock
    private let length: Duration

    init(_ clock: VirtualClock, past length: Duration) { (self.clock, self.length) = (clock, length) }

    var now: UInt64 { clock.now }

    func beginWait(until deadline: UInt64, _ wake: @escaping @Sendable () -> Void) -> Int {
        if deadline == now + length.nanoseconds { clock.advance(by: length) }
        return clock.beginWait(until: deadline, wake)
    }

    func endWait(_ number: Int) { clock.endWait(number) }
}
