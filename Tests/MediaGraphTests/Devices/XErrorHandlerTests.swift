import Glibc
import Testing

@testable import MediaGraphDevices
@testable import X11

/// Tests the handler of X errors, of which a process has one.
@Suite struct XErrorHandlerTests {
    private typealias Handler = @convention(c) (UnsafeMutableRawPointer?, UnsafeMutableRawPointer?) -> CInt
    private typealias SetHandler = @convention(c) (Handler?) -> Handler?

    private static let foreign: Handler = { _, _ in 0 }

    private static func address(_ handler: Handler?) -> UnsafeMutableRawPointer? {
        unsafeBitCast(handler, to: UnsafeMutableRawPointer?.self)
    }

    @Test("DV-2 if Xlib's error handler has come back, ours is installed again, but another one stays")
    func installedAgain() throws {
        let library = try #require(dlopen("libX11.so.6", RTLD_NOW))
        let set = unsafeBitCast(try #require(dlsym(library, "XSetErrorHandler")), to: SetHandler.self)
        // In turn, so that no element of another test connects meanwhile.
        let (installed, again, other) = ScreenTurn.take {
            XConnections.installHandlers()
            // As an element does that was trying shared memory while the handlers were installed.
            let installed = set(nil)
            XConnections.installHandlers()
            let again = set(Self.foreign)
            XConnections.installHandlers()
            return (installed, again, set(installed))
        }
        #expect(Self.address(installed) == Self.address(again) && installed != nil)
        #expect(Self.address(other) == Self.address(Self.foreign))
    }
}
