import CX11
import Foundation
import Synchronization

/// Handles lost X servers and windows.
///
/// By default, Xlib ends the whole process when the connection to a server is lost, and when a window no longer exists.
/// After ``keepProcess(telling:)`` was called, only the affected capture ends.
package enum XConnections {
    package enum Loss: Sendable, Hashable {
        /// The connection to the server of this name, such as ":0".
        case server(String)
        /// The window of this number, on the server of this name.
        case window(UInt, server: String)
    }

    private typealias Display = UnsafeMutableRawPointer
    private typealias DisplayFunction = @convention(c) (Display?) -> CInt
    private typealias ErrorHandler = @convention(c) (Display?, UnsafePointer<CXErrorEvent>?) -> CInt
    private typealias ExitHandler = @convention(c) (Display?, UnsafeMutableRawPointer?) -> Void
    private typealias SetExitHandler = @convention(c) (Display?, ExitHandler?, UnsafeMutableRawPointer?) -> Void
    private typealias SetErrorHandler = @convention(c) (ErrorHandler?) -> ErrorHandler?
    private typealias Unlock = @convention(c) (Display?) -> Void
    private typealias DisplayName = @convention(c) (Display?) -> UnsafePointer<CChar>?

    /// Functions of libX11, for the C handlers, which can't capture variables.
    private struct Functions: Sendable {
        var setExitHandler: SetExitHandler
        var setErrorHandler: SetErrorHandler
        var displayName: DisplayName
        var unlock: Unlock
        /// The original function of the hook that Xlib calls for each new connection.
        var initializeLock: DisplayFunction
        /// The program's own error handler, if it had one.
        var errorHandler: ErrorHandler?
    }

    private static let functions = Mutex<Functions?>(nil)
    /// A structure, because a bare closure that is read through a lock is wrapped once more by each read.
    private struct Listener: Sendable {
        var lost: @Sendable (Loss) -> Void
    }

    private static let listener = Mutex<Listener?>(nil)

    /// Keeps the process alive from now on, and calls `lost` on the thread that lost a server or window, without any
    /// Xlib lock held. `lost` needn't return. Existing connections aren't affected. Later calls do nothing. Returns
    /// false if libX11 isn't installed or lacks a needed symbol.
    package static func keepProcess(telling lost: @escaping @Sendable (Loss) -> Void) -> Bool {
        functions.withLock { functions in
            guard functions == nil else { return true }
            guard let library = dlopen("libX11.so.6", RTLD_NOW),
                // The exit handler has to be set for each connection, and elements don't expose theirs. Xlib calls the
                // function in this variable first for each new connection.
                let hook = dlsym(library, "_XInitDisplayLock_fn")?
                    .assumingMemoryBound(to: Optional<DisplayFunction>.self),
                let initializeLock = hook.pointee,
                let setErrorHandler = dlsym(library, "XSetErrorHandler"),
                let setServerHandler = dlsym(library, "XSetIOErrorHandler"),
                let setExitHandler = dlsym(library, "XSetIOErrorExitHandler"),
                let displayName = dlsym(library, "XDisplayString"),
                let unlock = dlsym(library, "XUnlockDisplay")
            else { return false }
            listener.withLock { $0 = Listener(lost: lost) }
            // Xlib's own handler would end the process before the exit handler is called.
            typealias SetServerHandler = @convention(c) (DisplayFunction?) -> DisplayFunction?
            _ = unsafeBitCast(setServerHandler, to: SetServerHandler.self)(serverIsLost)
            let setErrors = unsafeBitCast(setErrorHandler, to: SetErrorHandler.self)
            let previous = setErrors(resourceLost)
            let isXlibs = unsafeBitCast(previous, to: UnsafeMutableRawPointer?.self) == dlsym(library, "_XDefaultError")
            functions = Functions(
                setExitHandler: unsafeBitCast(setExitHandler, to: SetExitHandler.self), setErrorHandler: setErrors,
                displayName: unsafeBitCast(displayName, to: DisplayName.self),
                unlock: unsafeBitCast(unlock, to: Unlock.self), initializeLock: initializeLock,
                errorHandler: isXlibs ? nil : previous)
            hook.pointee = opened
            return true
        }
    }

    /// Installs the error handler of ``keepProcess(telling:)`` again.
    package static func installErrorHandler() {
        functions.withLock { functions in _ = functions?.setErrorHandler(resourceLost) }
    }

    private static let opened: DisplayFunction = { display in
        guard let functions = functions.withLock({ $0 }) else { return 0 }
        let result = functions.initializeLock(display)
        functions.setExitHandler(display, serverLost, nil)
        return result
    }

    private static let serverIsLost: DisplayFunction = { _ in 0 }

    /// Called when a server is lost. Unlike Xlib's own exit handler, it returns; further calls on the connection fail.
    private static let serverLost: ExitHandler = { display, _ in
        guard let functions = functions.withLock({ $0 }) else { return }
        // Xlib holds the display's lock, since it expects the process to end. Unlock it, so that another thread can
        // close it.
        functions.unlock(display)
        let name = functions.displayName(display).map { String(cString: $0) } ?? ""
        listener.withLock { $0 }?.lost(.server(name))
    }

    /// The connections of ``XWindows``. Their errors are no losses: a missing window is the answer to its query.
    static let own = Mutex<Set<UInt>>([])
    /// The error codes in X.h for windows that don't exist. Other errors are about existing windows, such as BadMatch
    /// for a window that is partly off the screen and can't be read.
    private static let badWindow: UInt8 = 3, badDrawable: UInt8 = 9

    private static let resourceLost: ErrorHandler = { display, event in
        let functions = functions.withLock { $0 }
        if let display, let event, [badWindow, badDrawable].contains(event.pointee.error_code),
            !own.withLock({ $0.contains(UInt(bitPattern: display)) })
        {
            let name = functions?.displayName(display).map { String(cString: $0) } ?? ""
            listener.withLock { $0 }?.lost(.window(event.pointee.resource, server: name))
        }
        return functions?.errorHandler?(display, event) ?? 0
    }
}
