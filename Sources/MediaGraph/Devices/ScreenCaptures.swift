import Foundation
import GStreamer
import Synchronization

/// What a graph captures of X screens. A server that ends, or a window that is closed, is the end of that capture, not of the
/// program, which Xlib would end.
final class ScreenCaptures: Sendable {
    private static let factory = "ximagesrc"
    private static let all = Mutex<[ObjectIdentifier: @Sendable (XConnections.Loss) -> Void]>([:])
    /// Elements that have lost what they capture, in this run: Xlib tells it with each frame.
    private let lost = Mutex<Set<String>>([])

    /// Before elements are made of a description: they connect as soon as they are linked.
    static func keepProcess(by text: String) {
        guard text.contains(factory) else { return }
        _ = XConnections.keepProcess { loss in
            for told in all.withLock({ Array($0.values) }) { told(loss) }
        }
    }

    /// `told` is called on the thread that lost something.
    func onLoss(_ told: @escaping @Sendable (XConnections.Loss) -> Void) {
        Self.all.withLock { $0[ObjectIdentifier(self)] = told }
    }

    /// Before a run.
    func forgetLosses() { lost.withLock { $0 = [] } }

    deinit { _ = Self.all.withLock { $0.removeValue(forKey: ObjectIdentifier(self)) } }

    /// Says so in the name of each element that captured it: an error, or, where it only fed a session, a warning and the end of
    /// its stream. Not on the element's own thread.
    func end(_ loss: XConnections.Loss, in pipeline: Pipeline) {
        for element in pipeline.allElements where element.factoryName == Self.factory {
            guard let error = Self.error(loss, of: element), lost.withLock({ $0.insert(element.name).inserted }) else {
                continue
            }
            if element.leadsOnlyToSessions {
                element.postWarning(.read, "\(error): the share ends")
                element.sendEndOfStream()
            } else {
                element.postError(.read, "\(error)", details: error.details)
            }
        }
    }

    /// `nil` when the element captures something else.
    private static func error(_ loss: XConnections.Loss, of element: Element) -> MediaGraphError? {
        let environment = ProcessInfo.processInfo.environment["DISPLAY"] ?? ""
        let display = (try? element.propertyText("display-name")).flatMap { $0.isEmpty ? nil : $0 } ?? environment
        switch loss {
        case .server(let name):
            guard name == display else { return nil }
            return .deviceGone(
                .init("X screen \(name)", expected: "an X server that runs", actual: "a connection that it closed"))
        case .resource(let number):
            let isNamed = (try? element.propertyText("xname"))?.isEmpty == false
            guard isNamed || (try? element.propertyText("xid")).flatMap({ UInt($0) }) == number else { return nil }
            return .deviceGone(
                .init(
                    "window 0x\(String(number, radix: 16)) of X screen \(display)", expected: "a window that is open",
                    actual: "none that can be captured"))
        }
    }
}
