import Foundation

/// Looks up windows of X servers. Each call opens a connection of its own, and blocks.
///
/// Call ``XConnections/keepProcess(telling:)`` before: errors on these connections would otherwise end the process.
package enum XWindows {
    /// Returns the window of this number, or otherwise the first window of this name; `nil` if there is none, or the
    /// server can't be reached.
    ///
    /// - Parameters:
    ///   - number: The window's number; 0 for none.
    ///   - name: The window's name, as XFetchName returns it; empty for none. The root window never matches.
    ///   - display: The server's name, such as ":0"; empty for the server in `DISPLAY`.
    package static func window(_ number: UInt, named name: String, on display: String) -> UInt? {
        connected(to: display) { connection in
            if number != 0, connection.has(number) { return number }
            return name.isEmpty ? nil : connection.first(named: name)
        } ?? nil
    }

    /// A connection that keeps a server from resetting itself, until it is released.
    package struct Hold: Sendable { fileprivate let connection: UInt }

    /// Holds a connection to a server, for the time in which others disconnect and reconnect.
    ///
    /// Unless it runs with `-noreset`, a server resets itself when its last client disconnects, and refuses connections
    /// for a moment. This method retries for that long. `nil` if the server can't be reached.
    package static func hold(_ display: String) -> Hold? {
        // Limited by time, because each refusal of a slow server takes long.
        let end = ContinuousClock.now + timeout
        var pause = 0.001
        while true {
            let isLast = ContinuousClock.now >= end
            if let server = open(display) { return Hold(connection: UInt(bitPattern: server)) }
            guard !isLast else { return nil }
            Thread.sleep(forTimeInterval: pause)
            pause *= 2
        }
    }

    package static func release(_ hold: Hold) { UnsafeMutableRawPointer(bitPattern: hold.connection).map(close) }

    /// How long to retry. A reset takes a few milliseconds.
    private static let timeout = Duration.milliseconds(200)

    private static func open(_ display: String) -> Display? {
        guard let server = functions?.open(display.isEmpty ? nil : display) else { return nil }
        XConnections.own.withLock { _ = $0.insert(UInt(bitPattern: server)) }
        return server
    }

    private static func close(_ server: Display) {
        _ = functions?.close(server)
        XConnections.own.withLock { _ = $0.remove(UInt(bitPattern: server)) }
    }

    private static func connected<Result>(to display: String, _ body: (Connection) -> Result) -> Result? {
        guard let functions, let server = open(display) else { return nil }
        defer { close(server) }
        return body(Connection(server: server, functions: functions))
    }

    private typealias Display = UnsafeMutableRawPointer
    private typealias Name = UnsafeMutablePointer<CChar>
    private typealias Numbers = UnsafeMutablePointer<CUnsignedLong>

    private struct Functions: Sendable {
        var open: @convention(c) (UnsafePointer<CChar>?) -> Display?
        var close: @convention(c) (Display) -> CInt
        var root: @convention(c) (Display) -> CUnsignedLong
        var attributes: @convention(c) (Display, CUnsignedLong, UnsafeMutableRawPointer) -> CInt
        var tree:
            @convention(c) (
                Display, CUnsignedLong, Numbers, Numbers, UnsafeMutablePointer<Numbers?>,
                UnsafeMutablePointer<CUnsignedInt>
            ) -> CInt
        var name: @convention(c) (Display, CUnsignedLong, UnsafeMutablePointer<Name?>) -> CInt
        var free: @convention(c) (UnsafeMutableRawPointer) -> CInt
    }

    /// `nil` if libX11 isn't installed or lacks a needed symbol.
    private static let functions: Functions? = {
        guard let library = dlopen("libX11.so.6", RTLD_NOW), let open = dlsym(library, "XOpenDisplay"),
            let close = dlsym(library, "XCloseDisplay"), let root = dlsym(library, "XDefaultRootWindow"),
            let attributes = dlsym(library, "XGetWindowAttributes"), let tree = dlsym(library, "XQueryTree"),
            let name = dlsym(library, "XFetchName"), let free = dlsym(library, "XFree")
        else { return nil }
        func function<T>(_ address: UnsafeMutableRawPointer) -> T { unsafeBitCast(address, to: T.self) }
        return Functions(
            open: function(open), close: function(close), root: function(root), attributes: function(attributes),
            tree: function(tree), name: function(name), free: function(free))
    }()

    /// A connection during one call, used by one thread.
    private struct Connection {
        let server: Display
        let functions: Functions

        func has(_ window: UInt) -> Bool {
            // Room for `XWindowAttributes`, which has 23 fields of at most 8 bytes. None of them is read.
            withUnsafeTemporaryAllocation(byteCount: 256, alignment: 16) {
                functions.attributes(server, window, $0.baseAddress!) != 0
            }
        }

        /// Searches in the same order as `ximagesrc`, except for the root window.
        func first(named name: String) -> UInt? { first(named: name, in: functions.root(server)) }

        private func first(named name: String, in window: UInt) -> UInt? {
            for child in children(of: window) {
                if self.name(of: child) == name, has(child) { return child }
                if let found = first(named: name, in: child) { return found }
            }
            return nil
        }

        private func name(of window: UInt) -> String? {
            var text: Name?
            guard functions.name(server, window, &text) != 0, let text else { return nil }
            defer { _ = functions.free(text) }
            return String(cString: text)
        }

        private func children(of window: UInt) -> [UInt] {
            var (root, parent): (CUnsignedLong, CUnsignedLong) = (0, 0)
            var (list, count): (Numbers?, CUnsignedInt) = (nil, 0)
            guard functions.tree(server, window, &root, &parent, &list, &count) != 0, let list else { return [] }
            defer { _ = functions.free(list) }
            return UnsafeBufferPointer(start: list, count: Int(count)).map { UInt($0) }
        }
    }
}
