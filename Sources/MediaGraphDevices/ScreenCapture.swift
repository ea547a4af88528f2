import Foundation
import GStreamer
import MediaGraphCore
import Synchronization
import X11

/// An `ximagesrc` with the window that it is set to capture.
///
/// If the window doesn't exist, `ximagesrc` captures the whole screen, which the user didn't want to show. So the
/// window is looked up before the element connects, and again afterwards: a window that exists both times is the one
/// that it found.
final class ScreenCapture: Sendable {
    static let factory = "ximagesrc"
    let element: Element
    private struct Window: Sendable {
        /// The number of the window that was chosen last; 0 for the screen.
        var number: UInt = 0
        /// Whether the window was chosen by name. The element's `xid` was set by this class then, not by the user.
        var isNamed = false
        /// The window's display name.
        var title = ""
        /// Whether the window was closed.
        var isOver = false
    }
    private let window = Mutex(Window())

    /// `nil` for any other element.
    init?(_ element: Element) {
        guard element.factoryName == Self.factory else { return nil }
        self.element = element
    }

    // MARK: Before the start

    /// Looks up the window and reconnects the element to it. Blocks. Call it before the element goes to PAUSED, on the
    /// thread that changes its state.
    ///
    /// - Parameter timeout: The time to wait while other threads connect to X servers; `nil` for no limit.
    func choose(within timeout: Duration? = nil) throws(MediaGraphError) {
        // A server may reset itself when its last client disconnects. This connection prevents that while the element
        // reconnects.
        let hold = XWindows.hold(display)
        defer { hold.map(XWindows.release) }
        try ScreenTurn.take(within: timeout) { () throws(MediaGraphError) in
            element.releaseSource()
            try find()
            // The element connects in order to answer the query.
            _ = element.staticPad("src")?.queryCaps()
        }
    }

    private func find() throws(MediaGraphError) {
        let (number, name) = requested
        guard number != 0 || !name.isEmpty else { return window.withLock { $0 = Window() } }
        let title = title
        guard let found = XWindows.window(number, named: name, on: display) else {
            throw .noDevice(closedDetail(title))
        }
        window.withLock { $0 = Window(number: found, isNamed: found != number, title: title) }
        // Keeps the element from searching by name, which might find another window.
        do { try element.setProperty("xid", to: UInt64(found)) } catch {
            throw .internalError(.init("ximagesrc", actual: "\(error)"))
        }
    }

    /// Checks that the window still exists. Blocks. Call it once the element is in PAUSED, before it produces frames.
    func confirm() throws(MediaGraphError) {
        let window = window.withLock { $0 }
        guard window.number != 0, XWindows.window(window.number, named: "", on: display) == nil else { return }
        throw .noDevice(closedDetail(window.title))
    }

    // MARK: Losses

    /// Returns the error for the loss of a window; `nil` if the element captures something else. May be called on any
    /// thread.
    func error(ofWindow number: UInt, on server: String) -> MediaGraphError? {
        let window = window.withLock { $0 }
        guard number == window.number, server == display else { return nil }
        return .deviceGone(closedDetail(window.title))
    }

    static func serverGone(_ name: String) -> MediaGraphError {
        .deviceGone(
            .init(
                "X screen \(name)",
                actual: """
                    the X server \(name) has ended, and so Xlib ends this process within \(XConnections.timeLimit) s. \
                    To survive that, capture the screen in a process of its own, and read it from a room
                    """))
    }

    private func closedDetail(_ title: String) -> MediaGraphError.Detail {
        window.withLock { $0.isOver = true }
        return .init(name(title), actual: "the window was closed or can't be captured")
    }

    /// The display name of the window or screen.
    var label: String {
        let chosen = window.withLock { $0.title }
        return name(chosen.isEmpty ? title : chosen)
    }

    /// Whether the window was set by its number and is closed. It can't return, because X reuses window numbers.
    var isLostForGood: Bool { requested.number != 0 && window.withLock { $0.isOver } }

    /// The window that the user has set; 0 and an empty name for the screen.
    private var requested: (number: UInt, name: String) {
        let chosen = window.withLock { $0 }
        let own = (try? element.property("xid", as: UInt64.self)).map { UInt($0) } ?? 0
        return (chosen.isNamed && own == chosen.number ? 0 : own, text("xname"))
    }

    /// The display name of the window that the user has set; empty for the screen.
    private var title: String {
        let (number, name) = requested
        if !name.isEmpty { return "\"\(name)\"" }
        return number == 0 ? "" : "0x\(String(number, radix: 16))"
    }

    private func name(_ window: String) -> String {
        let screen = Self.screen(display)
        return window.isEmpty ? screen : "window \(window) of \(screen)"
    }

    /// Returns the display name of a screen; of the one in `DISPLAY` if `display` is empty.
    static func screen(_ display: String) -> String {
        let name = display.isEmpty ? DeviceProbe.display ?? "" : display
        return name.isEmpty ? "X screen (DISPLAY isn't set)" : "X screen \(name)"
    }

    private func text(_ property: String) -> String { (try? element.property(property, as: String.self)) ?? "" }

    var display: String {
        let own = text("display-name")
        return own.isEmpty ? DeviceProbe.display ?? "" : own
    }
}
