import Dispatch
import GStreamer
import MediaGraphCore
import Synchronization
import X11

/// The elements of a graph that capture X screens or show windows. When a captured window is closed, only its capture
/// ends. When an X server ends, the whole graph fails, because Xlib ends the process; see `XConnections`.
package final class ScreenCaptures: Sendable {
    /// The sinks that show video in a window of an X server.
    static let windowSinks = ["ximagesink", "xvimagesink"]

    private struct Captures: Sendable {
        /// The captures, except those inside a `devicesource`.
        var all: [ScreenCapture]?
        /// The elements whose loss was reported in this run: Xlib reports it again for each frame.
        var lost: Set<Element> = []
        /// Notifies about losses during a run.
        var listener: XConnections.Listener?
    }
    private let captures = Mutex(Captures())

    package init() {}

    /// Starts a run. Returns whether the graph has elements that capture a screen. The pipeline is searched once; `add`
    /// tells of elements that come later.
    ///
    /// - Parameters:
    ///   - control: The queue on which the graph's elements are changed.
    ///   - isShare: Whether an element only feeds a session, which continues without it.
    package func begin(
        in pipeline: Pipeline, on control: DispatchQueue, isShare: @escaping @Sendable (Element) -> Bool
    ) -> Bool {
        let all =
            captures.withLock { $0.all }
            ?? pipeline.allElements.compactMap(ScreenCapture.init).filter { $0.element.deviceSource == nil }
        // Losses are reported on a thread of an element. Don't block that thread: other threads may be waiting for it.
        let listener = XConnections.Listener { [weak self] loss in
            switch loss {
            case .server(let name):
                // On a queue of its own, because the control queue may be waiting for that element.
                DispatchQueue(label: "mediagraph.screens").async { Self.fail(pipeline, without: name) }
            case .window(let number, let server):
                guard let self else { return }
                control.async { self.endCaptures(of: number, on: server, isShare: isShare) }
            }
        }
        captures.withLock { $0 = Captures(all: all, listener: listener) }
        return !all.isEmpty
    }

    /// Ends a run: losses are no longer handled, and `stop` stops the graph. If an X server was lost, this method waits
    /// at most two seconds for `stop`: the thread that lost the server waits in Xlib until the process ends.
    package func end(_ stop: @escaping @Sendable () -> Void) {
        captures.withLock { $0.listener = nil }
        if XConnections.hasLostServer { _ = DeviceCall(stop).answer(within: .seconds(2)) } else { stop() }
    }

    /// Whether an X server was lost, so that the process will end.
    package static var processEnds: Bool { XConnections.hasLostServer }

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
            XWindows.hold(display)
        } late: { hold in
            self.release(hold)
        }
        return call.answer(within: ScreenTurn.graphTimeLimit) ?? nil
    }

    package func release(_ hold: XWindows.Hold?) { hold.map(XWindows.release) }

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
        each { capture throws(MediaGraphError) in try capture.confirm() }
    }

    /// Looks up the windows of an element that is added to the running graph, and of the elements inside it. Call it
    /// before the element starts, on the queue on which the graph's elements are changed.
    package func add(_ element: Element) throws(MediaGraphError) {
        let new = element.withContents.compactMap(ScreenCapture.init).filter { $0.element.deviceSource == nil }
        for capture in new { try capture.choose(within: ScreenTurn.graphTimeLimit) }
        captures.withLock { $0.all = ($0.all ?? []) + new }
    }

    /// Checks that the windows of an added element still exist. Call it once the element runs.
    package func confirm(_ element: Element) throws(MediaGraphError) {
        let contents = Set(element.withContents)
        for capture in captures.withLock({ $0.all }) ?? [] where contents.contains(capture.element) {
            try capture.confirm()
        }
    }

    /// Forgets the captures of an element that is removed.
    package func remove(_ element: Element) {
        let contents = Set(element.withContents)
        captures.withLock { captures in captures.all?.removeAll { contents.contains($0.element) } }
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

    /// Handles the loss of a window. Each element that captured it posts an error, or a warning if it only fed a session,
    /// and its stream ends.
    private func endCaptures(of window: UInt, on server: String, isShare: (Element) -> Bool) {
        for capture in captures.withLock({ $0.all }) ?? [] {
            let element = capture.element
            // An element that hasn't started reconnects when it starts.
            guard element.state >= .paused, let error = capture.error(ofWindow: window, on: server),
                captures.withLock({ $0.lost.insert(element).inserted })
            else { continue }
            if isShare(element) {
                element.postWarning(.read, "\(error): the share ends")
            } else {
                element.postError(.read, "\(error)", details: error.details)
            }
            element.sendEndOfStream()
        }
    }

    /// Handles the loss of an X server: an element that uses it posts the error, or the pipeline if none does, because
    /// the process ends in any case. Then the streams of the server's captures end, so that their files are complete.
    private static func fail(_ pipeline: Pipeline, without server: String) {
        let error = ScreenCapture.serverGone(server)
        let captures = pipeline.allElements.compactMap(ScreenCapture.init).filter { $0.display == server }
        let source = captures.first.map { $0.element.deviceSource ?? $0.element }
        // Searched now, because `autovideosink` creates its sink late.
        let sink = pipeline.allElements.first {
            $0.factoryName.map(windowSinks.contains) == true && display(of: $0) == server
        }
        (source ?? sink ?? pipeline).postError(source == nil ? .write : .read, "\(error)", details: error.details)
        for capture in captures where capture.element.deviceSource == nil {
            // Sent to the source's peer, because the source itself would wait for its thread, which is stuck in Xlib. On
            // a queue, because the call may block.
            DispatchQueue(label: "mediagraph.end").async {
                capture.element.staticPad("src")?.peer?.sendEndOfStream()
            }
        }
    }
}

extension Element {
    /// The `devicesource` that contains the element; `nil` if there is none.
    fileprivate var deviceSource: Element? {
        guard let bin = parent else { return nil }
        return bin.factoryName == NodeName.deviceSource ? bin : bin.deviceSource
    }
}
