import CMediaGraphABI
import GStreamer
import MediaGraphCore

/// A context's frame observer or editor, and the `frameobserver` nodes for it.
struct SessionObservation: Sendable {
    private enum Base: Sendable {
        case observer(any SessionFrameObserver)
        case editor(any SessionFrameEditor)
    }

    private let base: Base
    /// What a failure costs, as a property of the nodes.
    private let onError: (name: String, text: String)

    /// `nil` if the context has neither.
    init?(_ context: SessionContext) {
        if let observer = context.frameObserver {
            base = .observer(observer)
        } else if let editor = context.frameEditor {
            base = .editor(editor)
        } else {
            return nil
        }
        onError = context.onErrorProperty
    }

    /// Makes a context contain this observer or editor, or none.
    static func set(_ observation: SessionObservation?, in context: inout SessionContext) {
        (context.frameObserver, context.frameEditor) = (nil, nil)
        switch observation?.base {
        case .observer(let observer): context.frameObserver = observer
        case .editor(let editor): context.frameEditor = editor
        case nil: break
        }
    }

    var positions: Set<FramePosition> {
        switch base {
        case .observer(let observer): observer.positions
        case .editor(let editor): editor.positions
        }
    }

    private var mode: ObserverMode {
        switch base {
        case .observer: .readOnly
        case .editor: .readWrite
        }
    }

    // MARK: As a description

    static func name(of position: FramePosition) -> String { position.nick.replacing("-", with: "_") }

    /// The description of the node at a position; `nil` if the position isn't observed.
    func text(_ position: FramePosition, name: String? = nil) -> String? {
        guard positions.contains(position) else { return nil }
        let mode = mode == ObserverMode.readOnly ? "" : " mode=\(mode.nick)"
        return "frameobserver name=\(name ?? Self.name(of: position)) position=\(position.nick)\(mode) "
            + "\(onError.name)=\(onError.text)"
    }

    // MARK: As nodes

    /// Attaches the observer to the nodes of the local user's video, which are part of the graph from the beginning.
    func attach(to graph: Graph) throws {
        for position in positions.subtracting([.preRenderer]) {
            guard let node = try? graph.frameObserver(Self.name(of: position)) else { continue }
            try attach(position == .postCapture ? .captured : .willEncode, to: node.element)
        }
    }

    /// Makes a node that observes a remote user's video.
    func make(_ name: String, user: String, _ session: WeakSession) throws(MediaGraphError) -> Element {
        try make(name, .received(user, session))
    }

    /// Makes a node that observes the local user's video; `nil` if the position isn't observed, or isn't the local user's.
    func make(_ position: FramePosition) throws(MediaGraphError) -> Element? {
        guard position != .preRenderer, positions.contains(position) else { return nil }
        return try make(Self.name(of: position), position == .postCapture ? .captured : .willEncode)
    }

    private func make(_ name: String, _ call: ObservedCall) throws(MediaGraphError) -> Element {
        let element = try SessionGraph.make(
            "frameobserver", name, [("position", call.position.nick), ("mode", mode.nick), onError])
        try attach(call, to: element)
        return element
    }

    private func attach(_ call: ObservedCall, to element: Element) throws(MediaGraphError) {
        switch base {
        case .observer(let observer):
            let name = typeName(type(of: observer))
            let observer = ObserverAtPosition(observer: observer, call: call)
            try NodeVTable.attach(MGFrameObserver(observer, name: name), to: element)
        case .editor(let editor):
            let name = typeName(type(of: editor))
            let editor = EditorAtPosition(editor: editor, call: call)
            try NodeVTable.attach(MGFrameObserver(editor, name: name), to: element)
        }
    }
}

/// The method by which an observer receives frames at its position.
private enum ObservedCall: Sendable {
    case captured, willEncode
    case received(String, WeakSession)

    var position: FramePosition {
        switch self {
        case .captured: .postCapture
        case .willEncode: .preEncoder
        case .received: .preRenderer
        }
    }
}

private struct ObserverAtPosition: FrameObserver {
    let observer: any SessionFrameObserver
    let call: ObservedCall

    var preference: FramePreference { observer.preference }
    func registered(_ registration: ObserverRegistration) { observer.registered(registration, at: call.position) }

    func observe(_ frame: borrowing VideoFrame) throws -> Verdict {
        switch call {
        case .captured: return try observer.captured(frame)
        case .willEncode: return try observer.willEncode(frame)
        case .received(let name, let session):
            guard let session = session.session else { return .pass }
            let user = SessionUser(name: name, session: session)
            return observer.wantsChannels
                ? try observer.received(frame, from: user, in: session.context.room)
                : try observer.received(frame, from: user)
        }
    }
}

private struct EditorAtPosition: FrameEditor {
    let editor: any SessionFrameEditor
    let call: ObservedCall

    var preference: FramePreference { editor.preference }
    func registered(_ registration: ObserverRegistration) { editor.registered(registration, at: call.position) }

    func edit(_ frame: inout VideoFrame) throws -> Verdict {
        switch call {
        case .captured: return try editor.captured(&frame)
        case .willEncode: return try editor.willEncode(&frame)
        case .received(let name, let session):
            guard let session = session.session else { return .pass }
            let user = SessionUser(name: name, session: session)
            return editor.wantsChannels
                ? try editor.received(&frame, from: user, in: session.context.room)
                : try editor.received(&frame, from: user)
        }
    }
}
