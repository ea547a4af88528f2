import CX11
import Foundation
import Synchronization

/// The X servers that elements of this process are connected to, and what happens when one goes.
///
/// Xlib ends the whole process when its server is lost, and when a window is that something asks for. Both only end what was
/// captured, once ``keepProcess(telling:)`` was called.
package enum XConnections {
    package enum Loss: Sendable, Hashable {
        /// The server of this name, such as ":0".
        case server(String)
        /// The window of this number, on the server of this name: it is closed.
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

    /// What is called in libX11, as its handlers, which capture nothing, find it.
    private struct Functions: Sendable {
        var setExitHandler: SetExitHandler
        var setErrorHandler: SetErrorHandler
        var displayName: DisplayName
        var unlock: Unlock
        /// What opening a display called before.
        var initializeLock: DisplayFunction
        /// The program's own, where it had one.
        var errorHandler: ErrorHandler?
    }

    private static let functions = Mutex<Functions?>(nil)
    /// A structure: a bare closure that is read from behind a lock comes back wrapped once more each time.
    private struct Listener: Sendable {
        var lost: @Sendable (Loss) -> Void
    }

    private static let listener = Mutex<Listener?>(nil)

    /// From now on `lost` is called on the thread that lost something, with no lock of X's held; it needn't return. Connections that are there
    /// already are as they were. The first call counts; false where libX11 can't be had, or isn't as it should be.
    package static func keepProcess(telling lost: @escaping @Sendable (Loss) -> Void) -> Bool {
        functions.withLock { functions in
            guard functions == nil else { return true }
            guard let library = dlopen("libX11.so.6", RTLD_NOW),
                // What ends the process is set for each connection, and an element shows nobody its own. What Xlib calls
                // first for each is this variable's function.
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
            // Xlib's own ends the process before anybody is asked whether it should.
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

    /// Puts the handler of ``keepProcess(telling:)`` in once more.
    package static func hearErrors() {
        functions.withLock { functions in _ = functions?.setErrorHandler(resourceLost) }
    }

    private static let opened: DisplayFunction = { display in
        guard let functions = functions.withLock({ $0 }) else { return 0 }
        let result = functions.initializeLock(display)
        functions.setExitHandler(display, serverLost, nil)
        return result
    }

    private static let serverIsLost: DisplayFunction = { _ in 0 }

    /// Returns, other than Xlib's own: what is called on the connection fails from now on.
    private static let serverLost: ExitHandler = { display, _ in
        guard let functions = functions.withLock({ $0 }) else { return }
        // Xlib keeps it locked for this thread, on its way to the process's end; another one is to close it.
        functions.unlock(display)
        let name = functions.displayName(display).map { String(cString: $0) } ?? ""
        listener.withLock { $0 }?.lost(.server(name))
    }

    /// Connections of ``XWindows``, which asks whether windows are there: that one isn't is its answer.
    static let own = Mutex<Set<UInt>>([])
    /// Of X.h: what is said of a window that isn't there. Others are said of those that are: of one that is partly off the
    /// screen, which can't be read (BadMatch).
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
