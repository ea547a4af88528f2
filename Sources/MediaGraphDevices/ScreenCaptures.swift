import GStreamer
import MediaGraphCore
import Synchronization
import X11

/// A graph's elements that capture X screens or show windows there, except those inside a `devicesource`. When the X server
/// ends or a captured window is closed, only these elements end; Xlib by default would end the whole program.
package final class ScreenCaptures: Sendable {
    /// What shows pictures in a window of an X server.
    static let windowSinks = ["ximagesink", "xvimagesink"]

    private struct Captures: Sendable {
        var all: [ScreenCapture]?
        /// Whose sinks show something: `autovideosink` makes its own late.
        var pipeline: Pipeline?
        /// Those that have lost what they capture, in this run: Xlib tells it with each frame.
        var lost: Set<Element> = []
    }
    private let captures = Mutex(Captures())

    package init() {}

    /// Whether there are any; before a run. They don't change after the graph is made.
    package func begin(in pipeline: Pipeline) -> Bool {
        let all =
            captures.withLock { $0.all }
            ?? pipeline.allElements.compactMap(ScreenCapture.init).filter { !$0.element.isInDeviceSource }
        captures.withLock { $0 = Captures(all: all, pipeline: pipeline) }
        return !all.isEmpty
    }

    /// Keeps a connection to the X server open while the graph's sinks connect; call it before they do. `autovideosink` tries
    /// several sinks: without this client the server would reset when the first sink disconnects, and refuse the next.
    package func holdServer(of pipeline: Pipeline) -> XWindows.Hold? {
        let sinks = pipeline.allElements.filter {
            $0.factoryName.map { $0 == "autovideosink" || Self.windowSinks.contains($0) } ?? false
        }
        guard let display = sinks.lazy.map(Self.display).first(where: { !$0.isEmpty }) else { return nil }
        // A server that hangs is the sink's to tell.
        let call = DeviceCall {
            ScreenTurn.take { XWindows.hold(display) }
        } late: { hold in
            self.release(hold ?? nil)
        }
        return call.answer(within: UInt64(ScreenTurn.graphTimeLimit / 1000)) ?? nil
    }

    package func release(_ hold: XWindows.Hold?) {
        guard let hold else { return }
        ScreenTurn.take(within: ScreenTurn.graphTimeLimit) { XWindows.release(hold) }
    }

    /// Where a window is shown; empty where that is nowhere.
    private static func display(of sink: Element) -> String {
        let own = (try? sink.property("display", as: String.self)) ?? ""
        return own.isEmpty ? DeviceProbe.display ?? "" : own
    }

    /// In READY. False when a window isn't there: its element has said so.
    package func choose() -> Bool {
        each { capture throws(MediaGraphError) in try capture.choose(within: ScreenTurn.graphTimeLimit) }
    }

    /// In PAUSED. False when a window has gone meanwhile.
    package func confirm() -> Bool {
        each { capture throws(MediaGraphError) in try capture.confirm(within: ScreenTurn.graphTimeLimit) }
    }

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
    package func end(_ loss: XConnections.Loss, isShare: (Element) -> Bool) {
        for capture in captures.withLock({ $0.all }) ?? [] {
            let element = capture.element
            // One that hasn't started connects anew when it does.
            guard element.state >= .paused, let error = capture.error(loss),
                captures.withLock({ $0.lost.insert(element).inserted })
            else { continue }
            if isShare(element) {
                element.postWarning(.read, "\(error): the share ends")
            } else {
                element.postError(.read, "\(error)", details: error.details)
            }
            element.sendEndOfStream()
        }
        guard case .server(let name) = loss else { return }
        let elements = captures.withLock { $0.pipeline }?.allElements ?? []
        for sink in elements where sink.factoryName.map(Self.windowSinks.contains) ?? false {
            guard sink.state >= .paused, name == Self.display(of: sink),
                captures.withLock({ $0.lost.insert(sink).inserted })
            else { continue }
            let error = ScreenCapture.serverGone(name)
            sink.postError(.write, "\(error)", details: error.details)
        }
    }
}

extension Element {
    /// Whether it is what a `devicesource` has made.
    fileprivate var isInDeviceSource: Bool {
        guard let bin = parent else { return false }
        return bin.factoryName == NodeName.deviceSource || bin.isInDeviceSource
    }
}
