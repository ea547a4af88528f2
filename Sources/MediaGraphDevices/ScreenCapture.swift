import Foundation
import GStreamer
import MediaGraphCore
import Synchronization
import X11

/// An `ximagesrc`, and the window that it was asked for.
///
/// In the place of a window that isn't there it takes the whole screen, which nobody wanted to show. So the window is looked up
/// before it connects, and once more when it has: what was there at both times is what it found.
final class ScreenCapture: Sendable {
    static let factory = "ximagesrc"
    let element: Element
    private struct Window: Sendable {
        /// What was chosen last; 0 for the screen.
        var number: UInt = 0
        /// By its name: the element's own number says nothing then.
        var isNamed = false
        /// What people call it.
        var title = ""
        /// It is closed, or its server has ended.
        var isOver = false
    }
    private let window = Mutex(Window())

    /// `nil` for any other element.
    init?(_ element: Element) {
        guard element.factoryName == Self.factory else { return nil }
        self.element = element
    }

    // MARK: Before it starts

    /// Before it is in PAUSED, on the thread that has its state in its hands: it connects anew, to the window that is there now.
    /// It blocks.
    ///
    /// - Parameter patience: microseconds that it waits for others that connect; `nil` for any time.
    func choose(within patience: Int64? = nil) throws(MediaGraphError) {
        try ScreenTurn.take(within: patience) { () throws(MediaGraphError) in
            let hold = XWindows.hold(display)
            defer { hold.map(XWindows.release) }
            element.releaseSource()
            try find()
            // It connects to know its formats.
            _ = element.staticPad("src")?.queryCaps()
        }
    }

    private func find() throws(MediaGraphError) {
        let (number, name) = asked
        guard number != 0 || !name.isEmpty else { return window.withLock { $0 = Window() } }
        let title = title
        guard let found = XWindows.window(number, named: name, on: display) else {
            throw .noDevice(over(title))
        }
        window.withLock { $0 = Window(number: found, isNamed: found != number, title: title) }
        // The element is to look no further than for this one.
        do { try element.setProperty("xid", to: UInt64(found)) } catch {
            throw .internalError(.init("ximagesrc", actual: "\(error)"))
        }
    }

    /// Once it is in PAUSED, and before it gives anything. It blocks.
    func confirm(within patience: Int64? = nil) throws(MediaGraphError) {
        let window = window.withLock { $0 }
        guard window.number != 0 else { return }
        let found = ScreenTurn.take(within: patience) { XWindows.window(window.number, named: "", on: display) }
        guard found == nil else { return }
        throw .noDevice(over(window.title))
    }

    // MARK: What it loses

    /// `nil` when it captures something else. Any thread.
    func error(_ loss: XConnections.Loss) -> MediaGraphError? {
        switch loss {
        case .server(let name):
            guard name == display else { return nil }
            window.withLock { $0.isOver = true }
            return Self.serverGone(name)
        case .window(let number, let server):
            let window = window.withLock { $0 }
            guard number == window.number, server == display else { return nil }
            return .deviceGone(over(window.title))
        }
    }

    static func serverGone(_ name: String) -> MediaGraphError {
        .deviceGone(.init("X screen \(name)", actual: "the X server closed the connection"))
    }

    private func over(_ title: String) -> MediaGraphError.Detail {
        window.withLock { $0.isOver = true }
        return .init(name(title), actual: "the window was closed or can't be captured")
    }

    /// What people call what it captures, or is to capture.
    var label: String {
        let chosen = window.withLock { $0.title }
        return name(chosen.isEmpty ? title : chosen)
    }

    /// Whether a window that was asked for by its number is closed: X gives that to another.
    var isOverForGood: Bool { asked.number != 0 && window.withLock { $0.isOver } }

    /// The window that was asked for; 0 and nothing for the screen.
    private var asked: (number: UInt, name: String) {
        let chosen = window.withLock { $0 }
        let own = (try? element.property("xid", as: UInt64.self)).map { UInt($0) } ?? 0
        return (chosen.isNamed && own == chosen.number ? 0 : own, text("xname"))
    }

    /// What people call that; empty for the screen.
    private var title: String {
        let (number, name) = asked
        if !name.isEmpty { return "\"\(name)\"" }
        return number == 0 ? "" : "0x\(String(number, radix: 16))"
    }

    private func name(_ window: String) -> String {
        let screen = Self.screen(display)
        return window.isEmpty ? screen : "window \(window) of \(screen)"
    }

    /// What people call a screen; with an empty name the one that `DISPLAY` names.
    static func screen(_ display: String) -> String {
        let name = display.isEmpty ? DeviceProbe.display ?? "" : display
        return name.isEmpty ? "X screen (DISPLAY isn't set)" : "X screen \(name)"
    }

    private func text(_ property: String) -> String { (try? element.property(property, as: String.self)) ?? "" }

    private var display: String {
        let own = text("display-name")
        return own.isEmpty ? DeviceProbe.display ?? "" : own
    }
}
