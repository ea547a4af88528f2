import GStreamer
import MediaGraphCore
import Synchronization
import X11

/// The elements of a graph that capture X screens or show windows, except those inside a `devicesource`. When the X
/// server ends or a captured window is closed, only these elements end; by default, Xlib would end the whole program.
package final class ScreenCaptures: Sendable {
    /// The sinks that show video in a window of an X server.
    static let windowSinks = ["ximagesink", "xvimagesink"]

    private struct Captures: Sendable {
        var all: [ScreenCapture]?
        /// The pipeline, which is searched for window sinks when the server ends: `autovideosink` creates its sink
        /// late.
        var pipeline: Pipeline?
        /// The elements whose loss was reported in this run: Xlib reports it again for each frame.
        var lost: Set<Element> = []
    }
    private let captures = Mutex(Captures())

    package init() {}

    /// Starts a run. Returns whether the graph has elements that capture a screen. The pipeline is searched once, because
    /// its elements don't change after the graph is made.
    package func begin(in pipeline: Pipeline) -> Bool {
        let all =
            captures.withLock { $0.all }
            ?? pipeline.allElements.compactMap(ScreenCapture.init).filter { !$0.element.isInDeviceSource }
        captures.withLock { $0 = Captures(all: all, pipeline: pipeline) }
        return !all.isEmpty
    }

    /// Keeps a connection to the X server open while the graph's sinks connect. Call it before they do. `autovideosink`
    /// tries several sinks: without this client, the server would reset when the first sink disconnects, and refuse the
    /// next one.
    package func holdServer(of pipeline: Pipeline) -> XWindows.Hold? {
        let sinks = pipeline.allElements.filter {
            $0.factoryName.map { $0 == "autovideosink" || Self.windowSinks.contains($0) } ?? false
        }
        guard let display = sinks.lazy.map(Self.display).first(where: { !$0.isEmpty }) else { return nil }
        // If the server hangs, the sink reports it.
        let call = DeviceCall {
            ScreenTurn.take { XWindows.hold(display) }
        } late: { hold in
            self.release(hold ?? nil)
        }
        return call.answer(within: ScreenTurn.graphTimeLimit) ?? nil
    }

    package func release(_ hold: XWindows.Hold?) {
        guard let hold else { return }
        ScreenTurn.take(within: ScreenTurn.graphTimeLimit) { XWindows.release(hold) }
    }

    /// Returns the X display of a sink; empty if there is none.
    private static func display(of sink: Element) -> String {
        let own = (try? sink.property("display", as: String.self)) ?? ""
        return own.isEmpty ? DeviceProbe.display ?? "" : own
    }

    /// Looks up all windows. Call it in READY. Returns false if a window doesn't exist; its element has posted an error
    /// then.
    package func choose() -> Bool {
        each { capture throws(MediaGraphError) in try capture.choose(within: ScreenTurn.graphTimeLimit) }
    }

    /// Checks that all windows still exist. Call it in PAUSED. Returns false if a window was closed; its element has
    /// posted an error then.
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

    /// Handles a loss. Each element that captured the lost screen or window posts an error, or a warning if it only fed
    /// a session, and its stream ends, so that it doesn't call the lost server any more. If a server is lost, each sink
    /// with a window on it posts an error too. Don't call this on the element's own thread.
    package func end(_ loss: XConnections.Loss, isShare: (Element) -> Bool) {
        for capture in captures.withLock({ $0.all }) ?? [] {
            let element = capture.element
            // An element that hasn't started reconnects when it starts.
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
    /// Whether the element is inside a `devicesource`.
    fileprivate var isInDeviceSource: Bool {
        guard let bin = parent else { return false }
        return bin.factoryName == NodeName.deviceSource || bin.isInDeviceSource
    }
}
