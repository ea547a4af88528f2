import GStreamer
import Synchronization
import TestSupport

@testable import MediaGraph

/// A transport to one remote user, called echo, whose camera sends whatever alice's camera sends.
final class EchoTransport: RoomTransport {
    /// What the room has asked for.
    let calls = Log<String>()
    private let delegate: any RoomTransportDelegate
    private let forwarding = Mutex<Forwarding?>(nil)

    private struct Forwarding: Sendable {
        let heard: RoomStream
        let reader: StreamReader
        let thread: NativeThread
    }

    static let user = "echo"
    private static let (heard, echoed) = (
        StreamKey(user: "alice", kind: .camera), StreamKey(user: user, kind: .camera)
    )

    init(_ delegate: any RoomTransportDelegate) { self.delegate = delegate }

    /// Makes `transport=NAME` one of these; each that a room makes is added to `made`.
    static func register(_ name: String, adding made: Log<EchoTransport>) {
        RoomTransportKind.register(
            RoomTransportKind(name: name, remedy: "shout louder") { _, delegate in
                let transport = EchoTransport(delegate)
                made.add(transport)
                return transport
            })
    }

    func start() { calls.add("start") }
    func stop() { calls.add("stop") }

    func join(_ user: String) throws(MediaGraphError) -> (others: [String], hasMoved: Bool) {
        guard user != Self.user else { throw .nameTaken(user, in: "the cave") }
        calls.add("join \(user)")
        return ([Self.user], false)
    }

    func leave(_ user: String) { calls.add("leave \(user)") }
    var remoteUsers: [String] { [Self.user] }
    func streamChanged(_ key: StreamKey, isOn: Bool) { calls.add("\(key.user) \(key.kind) \(isOn ? "on" : "off")") }
    func requestKeyFrame(_ key: StreamKey) { calls.add("key frame of \(key.user)") }
    func claimShare(_ user: String) -> ShareClaim { .held(by: Self.user) }

    func demandChanged(_ key: StreamKey) {
        guard key == Self.echoed else { return }
        let demand = delegate.demand(for: key)
        calls.add("demand \(demand.map { "\($0.rawValue)" } ?? "none")")
        if demand == nil { stopForwarding() } else { startForwarding() }
    }

    /// Echo leaves.
    func vanish() { delegate.remoteLeft(Self.user) }

    private func startForwarding() {
        forwarding.withLock { forwarding in
            guard forwarding == nil else { return }
            let (heard, reader) = (delegate.stream(Self.heard), StreamReader(bound: 100))
            reader.play()
            heard.add(reader)
            let thread = NativeThread("echo") { [self] in forward(reader) }
            forwarding = Forwarding(heard: heard, reader: reader, thread: thread)
        }
    }

    private func stopForwarding() {
        guard let forwarding = forwarding.withLock({ $0.take() }) else { return }
        forwarding.heard.remove(forwarding.reader)
        forwarding.reader.end()
        forwarding.thread.join()
    }

    private func forward(_ reader: StreamReader) {
        let echo = delegate.stream(Self.echoed)
        while true {
            switch reader.next() {
            case .buffer(let frame):
                echo.send(frame.buffer.access)
                _ = frame.buffer.take()
            case .signal(.begin): echo.begin()
            case .signal(.format(let format)): echo.setCaps(format.caps)
            case .signal(.timing(let timing)): echo.setTiming(timing)
            case .signal(.status(let isOn)):
                if echo.setStatus(isOn) { delegate.remoteStreamChanged(Self.echoed, isOn: isOn) }
            case .end: return
            default: continue
            }
        }
    }
}
