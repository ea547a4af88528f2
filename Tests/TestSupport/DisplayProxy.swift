import Foundation

/// A proxy between an X server and its clients, which simulates servers that fail at the wrong moment. It runs until it
/// is released.
public final class DisplayProxy {
    private let proxy = Process()
    private let socket: String
    /// The name of the proxy's display, such as ":4000".
    public let name: String

    /// Starts a proxy in front of a display.
    ///
    /// - Parameters:
    ///   - number: the first digits of the proxy's display number; the digits of the server's number follow.
    ///   - pieces: the number of the server's messages that a client gets before its connection is closed; `nil` for
    ///     all.
    ///   - resetTime: how long the proxy refuses clients after the last client has left, as a server does while it
    ///     resets itself.
    public init(
        _ display: VirtualDisplay, name number: Int, pieces: Int? = nil, resetTime: Duration = .zero
    ) throws {
        name = ":\(number)\(display.name.dropFirst())"
        socket = "/tmp/.X11-unix/X\(name.dropFirst())"
        proxy.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        proxy.arguments = [
            "python3", "-c", Self.script, "/tmp/.X11-unix/X\(display.name.dropFirst())", socket,
            "\(pieces ?? -1)", "\(resetTime / .seconds(1))",
        ]
        try proxy.run()
        struct NoProxy: Error {}
        guard waitUntil({ FileManager.default.fileExists(atPath: socket) }) else { throw NoProxy() }
    }

    deinit {
        kill(proxy.processIdentifier, SIGKILL)
        proxy.waitUntilExit()
        try? FileManager.default.removeItem(atPath: socket)
    }

    private static let script = """
        import os, socket, sys, threading, time
        real, path, pieces, reset = sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4])
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(path + ".new")
        listener.listen()
        os.rename(path + ".new", path)
        clients, left = set(), -1000.0
        def receive_setup(server):
            # The server may write its first message, which contains the screens, in two parts.
            data = server.recv(65536)
            while data and (len(data) < 8 or len(data) < 8 + 4 * int.from_bytes(data[6:8], sys.byteorder)):
                part = server.recv(65536)
                if not part: break
                data += part
            return data
        def pump(source, sink, count, receive=None):
            global left
            try:
                while (data := receive(source) if receive else source.recv(65536)) and count != 0:
                    sink.sendall(data)
                    count -= 1
                    receive = None
            except OSError: pass
            for end in source, sink:
                try: end.shutdown(socket.SHUT_RDWR)
                except OSError: pass
            if source in clients:
                clients.discard(source)
                left = time.monotonic()
        while True:
            client = listener.accept()[0]
            if reset:
                # Lets a client that has just left be noticed first.
                time.sleep(0.01)
                if not clients and time.monotonic() < left + reset:
                    client.close()
                    continue
            server = socket.socket(socket.AF_UNIX)
            server.connect(real)
            clients.add(client)
            threading.Thread(target=pump, args=(client, server, -1), daemon=True).start()
            threading.Thread(target=pump, args=(server, client, pieces, receive_setup), daemon=True).start()
        """
}
