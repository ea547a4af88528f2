import CX11
import Foundation

/// Looks up screens and windows of X servers, with libxcb: unlike libX11, it returns errors, and never ends the process
/// when a server is lost. Each call opens a connection of its own, and blocks.
package enum XWindows {
    /// A screen as an X server describes it.
    package struct Screen: Sendable {
        /// The size in pixels.
        package var width, height: Int
        /// The number of bits of a pixel that are used for its color.
        package var depth: Int
        /// Whether a pixel's least significant byte is the first.
        package var isLittleEndian: Bool
    }

    /// Returns the default screen of a server; `nil` if the server can't be reached.
    ///
    /// - Parameter display: The server's name, such as ":0"; empty for the server in `DISPLAY`.
    package static func screen(of display: String) -> Screen? {
        connected(to: display) { connection in
            connection.screen.map {
                Screen(
                    width: Int($0.width), height: Int($0.height), depth: Int($0.depth),
                    isLittleEndian: connection.isLittleEndian)
            }
        } ?? nil
    }

    /// Returns the window of this number, or otherwise the first window of this name; `nil` if there is none, or the
    /// server can't be reached.
    ///
    /// - Parameters:
    ///   - number: The window's number; 0 for none.
    ///   - name: The window's name, as its property WM_NAME has it; empty for none. The root window never matches.
    ///   - display: The server's name, such as ":0"; empty for the server in `DISPLAY`.
    package static func window(_ number: UInt, named name: String, on display: String) -> UInt? {
        connected(to: display) { connection in
            if number != 0, connection.has(UInt32(truncatingIfNeeded: number)) { return number }
            guard !name.isEmpty, let root = connection.screen?.root else { return nil }
            return connection.first(named: name, in: root).map { UInt($0) }
        } ?? nil
    }

    /// A connection that keeps a server from resetting itself, until it is released.
    package struct Hold: Sendable { fileprivate let connection: UInt }

    /// Holds a connection to a server, for the time in which others disconnect and reconnect.
    ///
    /// Unless it runs with `-noreset`, a server resets itself when its last client disconnects, and refuses connections
    /// for a moment. This method retries for that long. Returns `nil` if the server can't be
    /// reached.
    package static func hold(_ display: String) -> Hold? {
        // The retries are limited by time, because each refusal of a slow server takes long.
        let end = ContinuousClock.now + timeout
        var pause = 0.001
        while true {
            let isLast = ContinuousClock.now >= end
            if let connection = open(display) { return Hold(connection: UInt(bitPattern: connection.server)) }
            guard !isLast else { return nil }
            Thread.sleep(forTimeInterval: pause)
            pause *= 2
        }
    }

    package static func release(_ hold: Hold) { Server(bitPattern: hold.connection).map { functions?.disconnect($0) } }

    /// How long to retry. A reset takes a few milliseconds.
    private static let timeout = Duration.milliseconds(200)

    private static func open(_ display: String) -> Connection? {
        var screen: CInt = 0
        guard let functions, let server = functions.connect(display.isEmpty ? nil : display, &screen) else {
            return nil
        }
        guard functions.hasError(server) == 0 else {
            functions.disconnect(server)
            return nil
        }
        return Connection(server: server, number: screen, functions: functions)
    }

    private static func connected<Result>(to display: String, _ body: (Connection) -> Result) -> Result? {
        guard let connection = open(display) else { return nil }
        defer { connection.functions.disconnect(connection.server) }
        return body(connection)
    }

    private typealias Server = UnsafeMutableRawPointer
    private typealias Reply = UnsafeMutableRawPointer
    /// Takes the number of a request, and returns its reply, which has to be freed; `nil` if the request failed.
    private typealias ReplyFunction = @convention(c) (Server, UInt32, UnsafeMutableRawPointer?) -> Reply?

    private struct Functions: Sendable {
        var connect: @convention(c) (UnsafePointer<CChar>?, UnsafeMutablePointer<CInt>) -> Server?
        var hasError: @convention(c) (Server) -> CInt
        var disconnect: @convention(c) (Server) -> Void
        var setup: @convention(c) (Server) -> UnsafePointer<CXSetup>?
        var screens: @convention(c) (UnsafePointer<CXSetup>) -> CXScreens
        var nextScreen: @convention(c) (UnsafeMutablePointer<CXScreens>) -> Void
        var attributes: @convention(c) (Server, UInt32) -> UInt32
        var attributesReply: ReplyFunction
        var tree: @convention(c) (Server, UInt32) -> UInt32
        var treeReply: ReplyFunction
        var children: @convention(c) (Reply) -> UnsafePointer<UInt32>?
        var childCount: @convention(c) (Reply) -> CInt
        var property: @convention(c) (Server, UInt8, UInt32, UInt32, UInt32, UInt32, UInt32) -> UInt32
        var propertyReply: ReplyFunction
        var value: @convention(c) (Reply) -> UnsafeRawPointer?
        var valueLength: @convention(c) (Reply) -> CInt
    }

    /// `nil` if libxcb isn't installed.
    private static let functions: Functions? = {
        struct Missing: Error {}
        guard let library = dlopen("libxcb.so.1", RTLD_NOW) else { return nil }
        func function<T>(_ name: String) throws(Missing) -> T {
            guard let address = dlsym(library, "xcb_\(name)") else { throw Missing() }
            return unsafeBitCast(address, to: T.self)
        }
        do throws(Missing) {
            return Functions(
                connect: try function("connect"), hasError: try function("connection_has_error"),
                disconnect: try function("disconnect"), setup: try function("get_setup"),
                screens: try function("setup_roots_iterator"), nextScreen: try function("screen_next"),
                attributes: try function("get_window_attributes"),
                attributesReply: try function("get_window_attributes_reply"), tree: try function("query_tree"),
                treeReply: try function("query_tree_reply"), children: try function("query_tree_children"),
                childCount: try function("query_tree_children_length"), property: try function("get_property"),
                propertyReply: try function("get_property_reply"), value: try function("get_property_value"),
                valueLength: try function("get_property_value_length"))
        } catch { return nil }
    }()

    /// A connection during one call, used by one thread.
    private struct Connection {
        let server: Server
        /// The number of the default screen.
        let number: CInt
        let functions: Functions

        var screen: CXScreen? {
            guard var screens = functions.setup(server).map(functions.screens) else { return nil }
            for _ in 0..<number where screens.rest > 0 { functions.nextScreen(&screens) }
            return screens.rest > 0 ? screens.screen.pointee : nil
        }

        var isLittleEndian: Bool { functions.setup(server)?.pointee.image_byte_order == 0 }

        func has(_ window: UInt32) -> Bool {
            let reply = functions.attributesReply(server, functions.attributes(server, window), nil)
            free(reply)
            return reply != nil
        }

        /// Searches in the same order as `ximagesrc`, but skips the root window.
        func first(named name: String, in window: UInt32) -> UInt32? {
            for child in children(of: window) {
                if self.name(of: child) == name, has(child) { return child }
                if let found = first(named: name, in: child) { return found }
            }
            return nil
        }

        /// The atoms WM_NAME and STRING of Xatom.h, and the longest name in units of four bytes.
        private static let nameProperty: UInt32 = 39, stringType: UInt32 = 31, maximumLength: UInt32 = 1024

        private func name(of window: UInt32) -> String? {
            let request = functions.property(
                server, 0, window, Self.nameProperty, Self.stringType, 0, Self.maximumLength)
            guard let reply = functions.propertyReply(server, request, nil) else { return nil }
            defer { free(reply) }
            let bytes = UnsafeRawBufferPointer(
                start: functions.value(reply), count: Int(functions.valueLength(reply)))
            return String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
        }

        private func children(of window: UInt32) -> [UInt32] {
            guard let reply = functions.treeReply(server, functions.tree(server, window), nil) else { return [] }
            defer { free(reply) }
            return Array(
                UnsafeBufferPointer(start: functions.children(reply), count: Int(functions.childCount(reply))))
        }
    }
}
