import GStreamer
import MediaGraphCore
import WebRTC

/// What one PeerConnection carries: what a local user sends, or what a remote user does.
protocol Feed: AnyObject, Sendable {
    /// Ends the feed on a thread of its own, and then calls `completion` there.
    func close(then completion: @escaping @Sendable () -> Void)
}

/// The servers that PeerConnections need to reach others across routers. Empty if there is none.
struct ICEServers: Sendable, Hashable {
    var stun = ""
    var turn = ""
}

extension PeerConnection {
    /// Makes a connection. Throws `unsupported` if GStreamer lacks an element for it.
    static func make() throws(MediaGraphError) -> PeerConnection {
        do throws(PeerConnectionError) { return try PeerConnection() } catch {
            throw .unsupported(.init("transport janus", actual: "\(error)"))
        }
    }
}

extension SessionDescription {
    /// The identifiers of the m-lines, in order.
    var mids: [String] {
        sdp.split(whereSeparator: \.isNewline).filter { $0.hasPrefix("a=mid:") }.map { String($0.dropFirst(6)) }
    }

    /// The description without the feedback that Janus 1.1.2 can't read: `webrtcbin` would ask for key frames with FIR, and
    /// Janus would ignore it. With PLI, which remains, it works.
    var withoutFIR: SessionDescription {
        let lines = sdp.split(separator: "\r\n", omittingEmptySubsequences: false).filter {
            !($0.hasPrefix("a=rtcp-fb:") && $0.hasSuffix(" ccm fir"))
        }
        return SessionDescription(type, sdp: lines.joined(separator: "\r\n"))
    }
}

/// A problem of a feed's elements.
enum FeedProblem: Sendable {
    case warning(String)
    /// The feed is over.
    case failure(String)
}

extension Pipeline {
    /// Reports warnings and errors.
    ///
    /// Changes of the latency are ignored: no sink here waits for the clock. To query it here, on the thread that posts the
    /// message, would deadlock with a pipeline that is ending while it connects.
    func watch(_ report: @escaping @Sendable (FeedProblem) -> Void) {
        onMessage { message in
            switch message.kind {
            case .warning(let problem): report(.warning(problem.error.message))
            case .error(let problem): report(.failure(problem.error.message))
            default: break
            }
        }
    }
}

/// Ends the pipeline of a feed on a thread of its own, since elements wait for their threads, and then calls `completion`.
func end(_ pipeline: Pipeline, of connection: PeerConnection, then completion: @escaping @Sendable () -> Void) {
    NativeThread("janus-close") {
        pipeline.setState(.null)
        // A decoder that was being added meanwhile may have missed that.
        for element in pipeline.elements { element.setState(.null) }
        connection.close()
        pipeline.removeMessageHandler()
        completion()
    }.detach()
}
