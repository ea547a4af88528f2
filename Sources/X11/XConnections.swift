import CX11
import Foundation
import Synchronization

/// Handles lost X servers and windows, with the handlers that Xlib documents: XSetErrorHandler and XSetIOErrorHandler.
///
/// By default, Xlib ends the process when a window no longer exists, and when the connection to a server is lost. After
/// ``installHandlers()``, a lost window ends only its capture. A lost server still ends the process: Xlib calls `exit`
/// when the handler returns. (XSetIOErrorExitHandler could prevent that, but needs the `Display` of each connection
/// beforehand, which GStreamer's elements don't expose.) So the handler tells the listeners, and returns after
/// ``timeLimit``, in which they can finish their files.
package enum XConnections {
    package enum Loss: Sendable, Hashable {
        /// The connection to the server of this name, such as ":0". The process ends.
        case server(String)
        /// The window of this number, on the server of this name.
        case window(UInt, server: String)
    }

    /// Notifies about losses, from its creation until it is released.
    package final class Listener: Sendable {
        /// `lost` is called on the thread that lost something, and must not wait for that thread's element.
        package init(_ lost: @escaping @Sendable (Loss) -> Void) {
            XConnections.listeners.withLock { $0[ObjectIdentifier(self)] = Call(lost: lost) }
        }

        deinit { _ = XConnections.listeners.withLock { $0.removeValue(forKey: ObjectIdentifier(self)) } }
    }

    /// A structure, because a bare closure that is read through a lock is wrapped once more by each read.
    private struct Call: Sendable {
        var lost: @Sendable (Loss) -> Void
    }
    private static let listeners = Mutex<[ObjectIdentifier: Call]>([:])

    /// How long the process continues after it has lost a server, in seconds, if anyone listens. Longer than
    /// `mediagraph run` needs to finish its files.
    package static let timeLimit = 10

    /// Whether a server was lost while anyone listened: the process ends within ``timeLimit``.
    package static var hasLostServer: Bool { serverIsLost.load(ordering: .acquiring) }
    private static let serverIsLost = Atomic(false)

    private typealias Display = UnsafeMutableRawPointer
    private typealias ServerHandler = @convention(c) (Display?) -> CInt
    private typealias ErrorHandler = @convention(c) (Display?, UnsafePointer<CXErrorEvent>?) -> CInt
    private typealias DisplayName = @convention(c) (Display?) -> UnsafePointer<CChar>?

    /// Functions for the C handlers, which can't capture variables.
    private struct Functions: Sendable {
        var displayName: DisplayName
        /// The handler for lost servers that was installed before: the program's own, or Xlib's.
        var serverHandler: ServerHandler?
        /// The program's own error handler, if it had one.
        var errorHandler: ErrorHandler?
        /// Xlib's own error handler, which ends the process.
        var xlibsHandler: ErrorHandler?
        var setErrorHandler: SetErrorHandler
    }
    private typealias SetErrorHandler = @convention(c) (ErrorHandler?) -> ErrorHandler?
    private static let functions = Mutex<Functions?>(nil)

    /// Installs the handlers for the process. Call this before elements connect, while no element of ours is connecting.
    /// Does nothing if libX11 isn't installed.
    ///
    /// A later call installs the error handler again if Xlib's own has come back. That happens if an element of the
    /// program, unknown to us, was trying shared memory during the first call, since it then restored the handler that
    /// it had found. Another handler stays, because it may call ours.
    package static func installHandlers() {
        functions.withLock { functions in
            if let functions {
                let current = functions.setErrorHandler(errorOccurred)
                let (ours, xlibs) = (address(of: errorOccurred), address(of: functions.xlibsHandler))
                if ![ours, xlibs].contains(address(of: current)) { _ = functions.setErrorHandler(current) }
                return
            }
            guard let library = dlopen("libX11.so.6", RTLD_NOW),
                let setErrorHandler = dlsym(library, "XSetErrorHandler"),
                let setServerHandler = dlsym(library, "XSetIOErrorHandler"),
                let displayName = dlsym(library, "XDisplayString")
            else { return }
            typealias SetServerHandler = @convention(c) (ServerHandler?) -> ServerHandler?
            let setErrors = unsafeBitCast(setErrorHandler, to: SetErrorHandler.self)
            let setServers = unsafeBitCast(setServerHandler, to: SetServerHandler.self)
            // Setting no handler restores Xlib's, which ends the process and so must not be called.
            let previous = setErrors(nil)
            let xlibs = setErrors(errorOccurred)
            functions = Functions(
                displayName: unsafeBitCast(displayName, to: DisplayName.self), serverHandler: setServers(serverLost),
                errorHandler: address(of: previous) == address(of: xlibs) ? nil : previous, xlibsHandler: xlibs,
                setErrorHandler: setErrors)
        }
    }

    private static func address(of handler: ErrorHandler?) -> UnsafeMutableRawPointer? {
        unsafeBitCast(handler, to: UnsafeMutableRawPointer?.self)
    }

    private static func tell(_ loss: Loss) { for call in listeners.withLock({ Array($0.values) }) { call.lost(loss) } }

    private static let serverLost: ServerHandler = { display in
        // The previous handler reports it.
        let cause = errno
        guard let functions = functions.withLock({ $0 }) else { return 0 }
        if listeners.withLock({ !$0.isEmpty }) {
            serverIsLost.store(true, ordering: .releasing)
            tell(.server(functions.displayName(display).map { String(cString: $0) } ?? ""))
            Thread.sleep(forTimeInterval: TimeInterval(timeLimit))
        }
        errno = cause
        return functions.serverHandler?(display) ?? 0
    }

    /// The error codes in X.h for windows that don't exist. Other errors are about existing windows, such as BadMatch
    /// for a window that is partly off the screen and can't be read.
    private static let badWindow: UInt8 = 3, badDrawable: UInt8 = 9

    private static let errorOccurred: ErrorHandler = { display, event in
        let functions = functions.withLock { $0 }
        if let display, let event, [badWindow, badDrawable].contains(event.pointee.error_code) {
            let name = functions?.displayName(display).map { String(cString: $0) } ?? ""
            tell(.window(event.pointee.resource, server: name))
        }
        return functions?.errorHandler?(display, event) ?? 0
    }
}
