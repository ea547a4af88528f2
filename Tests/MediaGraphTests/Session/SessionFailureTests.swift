import GStreamer
import Synchronization
import TestSupport
import Testing

@testable import MediaGraph
@testable import MediaGraphCore

/// Tests what the failure of a session's handler costs.
@Suite(.timeLimit(.minutes(10))) struct SessionFailureTests {
    init() throws { try Nodes.register() }

    private struct Failure: Error, CustomStringConvertible { let description = "on purpose" }

    /// Says whether a handler throws, and counts its calls.
    private final class Switch: Sendable {
        let isFailing = Atomic<Bool>(true)
        let calls = Atomic<Int>(0)

        func call() throws {
            calls.add(1, ordering: .relaxed)
            if isFailing.load(ordering: .relaxed) { throw Failure() }
        }
        var count: Int { calls.load(ordering: .relaxed) }
        func mend() { isFailing.store(false, ordering: .relaxed) }
    }

    private struct Thrower: VideoProcessor {
        let state: Switch
        func process(_ frame: inout VideoFrame) throws -> Verdict {
            try state.call()
            return .pass
        }
    }

    private final class Observer: SessionFrameObserver {
        let state = Switch()
        let positions: Set<FramePosition>
        init(_ positions: Set<FramePosition>) { self.positions = positions }
        func captured(_ frame: borrowing VideoFrame) throws -> Verdict {
            try state.call()
            return .pass
        }
        func received(_ frame: borrowing VideoFrame, from user: SessionUser) throws -> Verdict {
            try state.call()
            return .pass
        }
    }

    private struct Speaker: VirtualSpeaker, Sendable {
        let state = Switch()
        func mixedAudioReceived(_ frame: borrowing AudioFrame) throws { try state.call() }
        func oneWayAudioReceived(_ frame: borrowing AudioFrame, user: SpeakerUser) throws { try state.call() }
    }

    private final class Delegate: RawDataDelegate {
        let state = Switch()
        func received(_ frame: borrowing VideoFrame, from pipe: PipeIdentity) throws { try state.call() }
    }

    private func warnings(_ log: SessionLog) -> [String] { log.log.all.filter { $0.contains("on purpose") } }

    private static let camera = "videotestsrc is-live=true ! video/x-raw,format=I420,width=32,height=18,framerate=30/1"

    @Test(
        "SE-4 a pre-processor that throws costs its own frames by `onError`, and never the camera",
        arguments: HandlerFailurePolicy.allCases)
    func processor(policy: HandlerFailurePolicy) async throws {
        let room = "processor-\(policy)"
        let state = Switch()
        let alice = try session("alice", room) {
            $0.camera = Self.camera
            $0.preProcessor = Thrower(state: state)
            $0.onError = policy
        }
        let bob = try session("bob", room)
        let log = SessionLog()
        alice.delegate = log
        for session in [alice, bob] { try await session.join() }
        #expect(try await eventually { bob.remoteUsers.count == 1 })
        let seen = PipeLog()
        try bob.user("alice").videoPipe.subscribe(seen, resolution: .p90)
        let node = try alice.graph.preprocessor("preprocessor")
        switch policy {
        case .pass:
            #expect(try await eventually { seen.count > 5 })
            #expect(node.statistics.failed > 0 && node.statistics.dropped == 0)
        case .drop:
            #expect(try await eventually { node.statistics.failed > 5 })
            #expect(node.statistics.dropped >= 5 && seen.count == 0)
        case .detach:
            #expect(try await eventually { seen.count > 5 })
            #expect(state.count == 1 && node.statistics.failed == 1)
        }
        state.mend()
        let before = seen.count
        #expect(try await eventually { seen.count > before + 5 })
        #expect(alice.isJoined)
        #expect(try await eventually { !warnings(log).isEmpty })
        for session in [alice, bob] { await session.leave() }
        let told = warnings(log)
        #expect(told.count == 1 && told[0].contains("handler Thrower failed"), "\(log.log.all)")
        if policy == .detach { #expect(state.count == 1) }
    }

    @Test("SE-4 an observer that throws costs neither the own camera nor the session", arguments: [true, false])
    func observer(isOwn: Bool) async throws {
        let room = "observer-\(isOwn)"
        let observer = Observer([isOwn ? .postCapture : .preRenderer])
        let alice = try session("alice", room) {
            $0.camera = Self.camera
            $0.frameObserver = observer
        }
        let bob = try session("bob", room) { $0.camera = Self.camera }
        let log = SessionLog()
        alice.delegate = log
        for session in [alice, bob] { try await session.join() }
        #expect(try await eventually { alice.remoteUsers.count == 1 && bob.remoteUsers.count == 1 })
        let (seen, sent) = (PipeLog(), PipeLog())
        try alice.user("bob").videoPipe.subscribe(seen, resolution: .p90)
        try bob.user("alice").videoPipe.subscribe(sent, resolution: .p90)
        #expect(try await eventually { seen.count > 5 && sent.count > 5 && observer.state.count > 5 })
        #expect(try await eventually { !warnings(log).isEmpty })
        #expect(alice.isJoined)
        for session in [alice, bob] { await session.leave() }
        let told = warnings(log)
        #expect(told.count == 1 && told[0].contains("observer Observer failed"), "\(told)")
        if !isOwn { #expect(told[0].contains("on bob's video"), "\(told)") }
    }

    @Test(
        "SE-4 a virtual speaker that throws costs its own blocks, and the delegate still gets them all",
        arguments: [HandlerFailurePolicy.pass, .detach])
    func speaker(policy: HandlerFailurePolicy) async throws {
        let room = "speaker-\(policy)"
        let microphone = RecordingMic()
        let bob = try session("bob", room) { $0.virtualAudioMic = microphone }
        let speaker = Speaker()
        let alice = try session("alice", room) {
            $0.virtualAudioSpeaker = speaker
            $0.onError = policy
        }
        let log = SessionLog()
        alice.delegate = log
        for session in [alice, bob] { try await session.join() }
        try alice.audioHelper.subscribe()
        func heard(_ count: Int) -> Bool {
            log.audio.all.count { $0 == "bob" } > count && log.audio.all.count { $0 == "mixed" } > count
        }
        #expect(
            try await eventually {
                try? sendNow(microphone.sender, [Int16](repeating: 1000, count: 480))
                return heard(5)
            })
        #expect(try await eventually { !warnings(log).isEmpty })
        #expect(alice.isJoined)
        let counts = try alice.graph.virtualSpeaker("speaker").statistics
        if policy == .detach {
            #expect(speaker.state.count == 1 && counts.failed == 1)
        } else {
            #expect(speaker.state.count > 5 && counts.failed > 5)
        }
        for session in [alice, bob] { await session.leave() }
        let told = warnings(log)
        // A failure on a user's stream and one on the mix are the same error.
        #expect(told.count == 1 && told[0].contains("handler Speaker failed on"), "\(told)")
    }

    @Test("SE-4 a detached delegate gets nothing more, others go on, and it may subscribe again")
    func delegate() async throws {
        let room = #function
        let source = RecordingSource()
        let bob = try session("bob", room) { $0.externalVideoSource = source }
        let alice = try session("alice", room) { $0.onError = .detach }
        let log = SessionLog()
        alice.delegate = log
        for session in [alice, bob] { try await session.join() }
        #expect(try await eventually { alice.remoteUsers.count == 1 })
        let pipe = try alice.user("bob").videoPipe
        let (failing, other) = (Delegate(), PipeLog())
        try pipe.subscribe(failing, resolution: .native)
        try pipe.subscribe(other, resolution: .native)
        func send(until condition: () -> Bool) async throws -> Bool {
            try await eventually {
                try? source.sendPattern()
                return condition()
            }
        }
        #expect(try await send { other.count > 10 && !warnings(log).isEmpty })
        #expect(failing.state.count == 1)
        failing.state.mend()
        try pipe.subscribe(failing, resolution: .native)
        #expect(try await send { failing.state.count > 5 })
        try await pipe.unsubscribe(failing)
        let before = other.count
        #expect(try await send { other.count > before + 5 })
        for session in [alice, bob] { await session.leave() }
        let told = warnings(log)
        #expect(told.count == 1 && told[0].contains("handler Delegate failed on bob's video"), "\(told)")
        #expect(told[0].contains("the handler gets no more frames"), "\(told)")
    }

    @Test(
        "SE-4 a session's description says what failures cost, at each node", arguments: HandlerFailurePolicy.allCases)
    func text(policy: HandlerFailurePolicy) async throws {
        let alice = try session("alice", "text-\(policy)") {
            $0.camera = Self.camera
            $0.preProcessor = Thrower(state: Switch())
            $0.frameObserver = Observer([.postCapture])
            $0.virtualAudioSpeaker = Speaker()
            $0.onError = policy
        }
        try alice.preview.subscribe(PipeLog(), resolution: .p90)
        let nick = ["frameobserver", "preprocessor", "virtualspeaker", "rawdatapipe"]
        let lines = alice.description.split(whereSeparator: { $0 == "\n" || $0 == "!" })
        for node in nick {
            let own = lines.filter { $0.contains("\(node) name=") }
            #expect(own.count == 1 && own.allSatisfy { $0.contains("on-error=\(policy)") }, "\(alice.description)")
        }
        #expect(Description(alice.description).resolved().diagnose() == [])
        #expect(try alice.graph.element("preprocessor").propertyText("on-error") == "\(policy)")
        #expect(try alice.graph.element("speaker").propertyText("on-error") == "\(policy)")
    }
}
