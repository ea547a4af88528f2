import Foundation
import GStreamer
import LocalSockets

/// The sockets of this machine's X servers, and of the sound servers that this process would use.
///
/// A server removes its socket file when it ends normally, but leaves it behind when it is killed.
package enum ServerSockets {
    /// The sound server's address in the environment, in the form `{machine}unix:/path tcp:host`; `nil` if it isn't
    /// set.
    package static var namedSoundServer: String? { ProcessInfo.processInfo.environment["PULSE_SERVER"] }

    /// Texts that identify the sound servers' sockets, and whether a server is listening. Another server has another
    /// text.
    static var sound: [String] { paths.compactMap { identity($0.path) } }

    /// Texts that identify the X servers' sockets, in the same way.
    static var screens: [String] {
        let folder = "/tmp/.X11-unix"
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        return names.sorted().compactMap { identity("\(folder)/\($0)") }
    }

    /// Whether the X server in `DISPLAY` is running. True without a check if it is on another machine, or if `DISPLAY`
    /// is invalid.
    static var isXServerRunning: Bool {
        guard let display = DeviceProbe.display else { return false }
        let number = display.drop { $0 != ":" }.dropFirst().prefix { $0 != "." }
        guard display.hasPrefix(":") || display.hasPrefix("unix:") else { return true }
        let path = "/tmp/.X11-unix/X\(number)"
        return FileManager.default.fileExists(atPath: path) && !LocalSocket.isAbandoned(path, isStream: true)
    }

    /// Whether a device provider's server is running, even if the provider can't connect to it.
    static func isThere(for provider: String) -> Bool {
        paths.contains {
            $0.provider == provider && FileManager.default.fileExists(atPath: $0.path)
                && !LocalSocket.isAbandoned($0.path, isStream: true)
        }
    }

    private static func identity(_ path: String) -> String? {
        guard let attributes = try? FileManager.default.attributesOfItem(atPath: path) else { return nil }
        let time = attributes[.creationDate] ?? attributes[.modificationDate] ?? 0
        let isAbandoned = LocalSocket.isAbandoned(path, isStream: true)
        return "\(path) \(attributes[.systemFileNumber] ?? 0) \(time) \(isAbandoned)"
    }

    /// The sockets of sound servers, with the device provider that connects to each: PulseAudio's, which PipeWire may
    /// provide instead, and PipeWire's.
    private static let paths: [(provider: String, path: String)] = {
        let environment = ProcessInfo.processInfo.environment
        let folder =
            environment["PULSE_RUNTIME_PATH"] ?? "\(environment["XDG_RUNTIME_DIR"] ?? "/run/user/\(getuid())")/pulse"
        let named = namedSoundServer?.split(separator: " ").compactMap { server in
            server.range(of: "unix:").map { String(server[$0.upperBound...]) }
                ?? (server.hasPrefix("/") ? String(server) : nil)
        }
        let pulse = named ?? ["\(folder)/native"]
        return pulse.map { ("pulsedeviceprovider", $0) }
            + PipeWireProvider.socketPaths.map { (PipeWireProvider.factoryName, $0) }
    }()
}
