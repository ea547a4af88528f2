import GStreamer
import Synchronization

/// What a graph's own elements capture of X screens. A server that ends, or a window that is closed, is the end of that capture,
/// not of the program, which Xlib would end. What a `devicesource` captures is that node's.
final class ScreenCaptures: Sendable {
    private struct Captures: Sendable {
        var all: [ScreenCapture]?
        /// Those that have lost what they capture, in this run: Xlib tells it with each frame.
        var lost: Set<Element> = []
    }
    private let captures = Mutex(Captures())

    /// Whether there are any; before a run. They don't change after the graph is made.
    func begin(in pipeline: Pipeline) -> Bool {
        let all =
            captures.withLock { $0.all }
            ?? pipeline.allElements.compactMap(ScreenCapture.init).filter { !$0.element.isInDeviceSource }
        captures.withLock { $0 = Captures(all: all) }
        return !all.isEmpty
    }

    /// In READY. False when a window isn't there: its element has said so.
    func choose() -> Bool { each { capture throws(MediaGraphError) in try capture.choose() } }

    /// In PAUSED. False when a window has gone meanwhile.
    func confirm() -> Bool { each { capture throws(MediaGraphError) in try capture.confirm() } }

    private func each(_ body: (ScreenCapture) throws(MediaGraphError) -> Void) -> Bool {
        for capture in captures.withLock({ $0.all }) ?? [] {
            do throws(MediaGraphError) { try body(capture) } catch {
                capture.element.postError(.notFound, "\(error)", details: error.details)
                return false
            }
        }
        return true
    }

    /// Says so in the name of each element that captured it: an error, or, where it only fed a session, a warning; and ends its
    /// stream, so that it doesn't ask a server any more that isn't there. Not on the element's own thread.
    func end(_ loss: XConnections.Loss) {
        for capture in captures.withLock({ $0.all }) ?? [] {
            let element = capture.element
            // One that hasn't started connects anew when it does.
            guard element.state >= .paused, let error = capture.error(loss),
                captures.withLock({ $0.lost.insert(element).inserted })
            else { continue }
            if element.leadsOnlyToSessions {
                element.postWarning(.read, "\(error): the share ends")
            } else {
                element.postError(.read, "\(error)", details: error.details)
            }
            element.sendEndOfStream()
        }
    }
}

extension Element {
    /// Whether it is what a `devicesource` has made.
    fileprivate var isInDeviceSource: Bool {
        guard let bin = parent else { return false }
        return bin.factoryName == DeviceSourceElement.declaration.factoryName || bin.isInDeviceSource
    }
}
