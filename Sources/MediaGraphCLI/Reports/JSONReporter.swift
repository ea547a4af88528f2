import Foundation
import MediaGraph

/// Reports for programs (`--json`): one JSON line per event on standard output. `mediagraph help run` documents them.
struct JSONReporter: RunReporter {
    let interval = Duration.seconds(1)
    let reportsRepeatedWarnings = true
    private(set) var hasReader = true

    private struct Start: Encodable {
        var event = JSONEvent.start
        var version = MediaGraphVersion.current
        var title: String
        var nodes: [Node]
    }

    private struct Node: Encodable {
        var name: String
        var element: String
    }

    private struct Progress: Encodable {
        var event = JSONEvent.progress
        var time: Double
        var position: Double?
        var duration: Double?
        var nodes: [ProgressSample.Row]

        init(_ sample: ProgressSample) {
            (time, position, duration, nodes) = (sample.time, sample.position, sample.duration, sample.rows)
        }
    }

    private struct Status: Encodable {
        var event = JSONEvent.status
        var node: String
        var on: Bool
    }

    private struct Alpha: Encodable {
        var event = JSONEvent.alpha
        var node: String
        var user: String?
        var kind: String?
        var enabled: Bool
    }

    private struct User: Encodable {
        var event: JSONEvent
        var node: String
        var user: String
        var displayName: String?
        var customData: String?
        var kind: String?
        var on: Bool?
        var muted: Bool?
        var speaking: Bool?
        var stalled: Bool?
        var reason: String?
    }

    private struct Command: Encodable {
        var event = JSONEvent.command
        var node: String
        var user: String
        var forAll: Bool
        var text: String?
        var bytes: Data?

        init(node: String, user: String, forAll: Bool, _ command: SessionCommand) {
            (self.node, self.user, self.forAll) = (node, user, forAll)
            switch command {
            case .text(let text): self.text = text
            case .bytes(let bytes): self.bytes = Data(bytes)
            }
        }
    }

    private struct Streams: Encodable {
        struct Stream: Encodable {
            var user: String
            var kind: String
            var direction: String
            var framesPerSecond: Double
            var bitsPerSecond: Double
            var width: Int?
            var height: Int?
            var frames: UInt64
            var bytes: UInt64
            var lost: UInt64
            var network: Network?
        }

        struct Network: Encodable {
            var bitsPerSecond: Double
            var packetsLost: UInt64
            var packetLoss: Double
            var jitterMilliseconds: Double?
            var roundTripMilliseconds: Double?

            init(_ statistics: NetworkStatistics) {
                bitsPerSecond = statistics.bitsPerSecond
                (packetsLost, packetLoss) = (statistics.packetsLost, statistics.packetLoss)
                jitterMilliseconds = statistics.jitter.map { $0 / .milliseconds(1) }
                roundTripMilliseconds = statistics.roundTripTime.map { $0 / .milliseconds(1) }
            }
        }

        var event = JSONEvent.streams
        var node: String
        var streams: [Stream]

        init(_ statistics: SessionStatistics) {
            node = statistics.node
            streams = statistics.streams.map {
                Stream(
                    user: $0.user, kind: $0.stream.rawValue, direction: $0.direction.rawValue,
                    framesPerSecond: $0.framesPerSecond, bitsPerSecond: $0.bitsPerSecond, width: $0.width,
                    height: $0.height, frames: $0.frames, bytes: $0.bytes, lost: $0.lost,
                    network: $0.network.map(Network.init))
            }
        }
    }

    private struct Device: Encodable {
        var event: JSONEvent
        var node: String
        var device: String
        var format: String?
        var lostAt: Double?
        var backAt: Double?
        var gap: Double?
        var reason: String?
    }

    private struct ElementMessage: Encodable {
        var event = JSONEvent.message
        var element: String
        var message: String
        var fields: [String: JSONValue]
    }

    private struct MissingStreamEvent: Encodable {
        var event = JSONEvent.missing
        var element: String
        var sink: String
        var message: String
    }

    private struct Finishing: Encodable {
        var event = JSONEvent.finishing
        var reason: StopReason
    }

    private struct End: Encodable {
        var event = JSONEvent.end
        var reason: StopReason
        var exitStatus: Int32
        var time: Double
        var frames: UInt64
        var dropped: UInt64
        var latencyMilliseconds: LatencySamples.Summary?
        var nodes: [ProgressSample.Row]
    }

    private mutating func print(_ event: some Encodable) {
        if hasReader, !JSONLine.print(event, to: StandardStreams.reservedOutput) { hasReader = false }
    }

    mutating func begin(_ title: String, _ rows: [ProgressSample.Row], _ subscriptions: [SessionSubscriptions]) {
        print(Start(title: title, nodes: rows.map { Node(name: $0.name, element: $0.element) }))
    }

    mutating func delayed(_ delay: RunFailure) {
        print(
            ProblemEvent(event: .warning, element: delay.element, factory: delay.factory, message: delay.message))
    }

    mutating func progress(_ sample: ProgressSample) { print(Progress(sample)) }

    mutating func event(_ event: GraphEvent) {
        switch event {
        case .streamStatus(let node, let isOn): print(Status(node: node, on: isOn))
        case .alphaChannel(let node, let isEnabled): print(Alpha(node: node, enabled: isEnabled))
        case .userJoined(let node, let user, let profile):
            func given(_ text: String) -> String? { text.isEmpty ? nil : text }
            print(
                User(
                    event: .joined, node: node, user: user, displayName: given(profile.displayName),
                    customData: given(profile.customData)))
        case .userProfile(let node, let user, let profile):
            print(
                User(
                    event: .profile, node: node, user: user, displayName: profile.displayName,
                    customData: profile.customData))
        case .userCommand(let node, let user, let command, let isForAll):
            print(Command(node: node, user: user, forAll: isForAll, command))
        case .userLeft(let node, let user): print(User(event: .left, node: node, user: user))
        case .userStream(let node, let user, let kind, let isOn):
            print(User(event: .stream, node: node, user: user, kind: kind, on: isOn))
        case .userMuted(let node, let user, let kind, let isMuted):
            print(User(event: .muted, node: node, user: user, kind: kind, muted: isMuted))
        case .userSpeaking(let node, let user, let isSpeaking):
            print(User(event: .speaking, node: node, user: user, speaking: isSpeaking))
        case .userAlpha(let node, let user, let kind, let isOn):
            print(Alpha(node: node, user: user, kind: kind, enabled: isOn))
        case .userStalled(let node, let user, let kind, let isStalled):
            print(User(event: .stalled, node: node, user: user, kind: kind, stalled: isStalled))
        case .shareRefused(let node, let user, let kind, let reason):
            print(User(event: .refused, node: node, user: user, kind: kind, reason: reason))
        case .deviceFormat(let node, let device, let format):
            print(Device(event: .format, node: node, device: device, format: format))
        case .deviceLost(let node, let device, let time, let reason):
            print(Device(event: .lost, node: node, device: device, lostAt: time.seconds, reason: reason))
        case .deviceBack(let node, let device, let lostAt, let backAt):
            print(
                Device(
                    event: .back, node: node, device: device, lostAt: lostAt.seconds, backAt: backAt.seconds,
                    gap: backAt.seconds - lostAt.seconds))
        case .warning(let warning):
            print(
                ProblemEvent(
                    event: .warning, element: warning.element, factory: warning.factory,
                    message: warning.error.message,
                    detail: warning.detail.isEmpty ? nil : warning.detail))
        case .missingStream(let missing):
            print(MissingStreamEvent(element: missing.source, sink: missing.sink, message: missing.reason))
        case .element(let name, let structure):
            print(ElementMessage(element: name, message: structure.name, fields: JSONValue.fields(of: structure)))
        case .stateChanged, .qualityOfService, .buffering, .ended: break
        }
    }

    mutating func statistics(_ statistics: SessionStatistics) { print(Streams(statistics)) }

    mutating func control(_ reply: ControlReply) { print(reply) }

    mutating func finishing(_ reason: StopReason, duration: Double?) { print(Finishing(reason: reason)) }

    mutating func failed(_ failure: RunFailure) {
        print(
            ProblemEvent(
                element: failure.element, factory: failure.factory, message: failure.message,
                detail: failure.detail, formatConflict: failure.formatConflict,
                incompleteFiles: failure.incompleteFiles.isEmpty ? nil : failure.incompleteFiles))
    }

    mutating func end(_ summary: RunSummary) {
        for warning in summary.warnings { print(ProblemEvent(event: .warning, message: warning)) }
        let sample = summary.sample
        print(
            End(
                reason: summary.reason, exitStatus: summary.status.number, time: sample.time,
                frames: sample.summaryRow?.frames ?? 0, dropped: sample.rows.reduce(0) { $0 + $1.dropped },
                latencyMilliseconds: summary.latency, nodes: sample.rows))
    }
}
