import Foundation
import GStreamer
import LocalSockets

/// The sockets of this machine's X servers, and of the sound servers that clients of this process get.
///
/// A server that ends by itself takes its file away; one that is killed leaves it behind.
package enum ServerSockets {
    /// Where the environment says that the sound server is, as `{machine}unix:/path tcp:host`; `nil` where it says nothing.
    package static var namedSoundServer: String? { ProcessInfo.processInfo.environment["PULSE_SERVER"] }

    /// Which they are, and whether somebody has them: another text for another server.
    static var sound: [String] { paths.compactMap { identity($0.path) } }

    static var screens: [String] {
        let folder = "/tmp/.X11-unix"
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        return names.sorted().compactMap { identity("\(folder)/\($0)") }
    }

    /// Whether there is an X server where `DISPLAY` says; of another machine's, and where it says nonsense, that it is.
    static var isScreenThere: Bool {
        guard let display = DeviceProbe.display else { return false }
        let number = display.drop { $0 != ":" }.dropFirst().prefix { $0 != "." }
        guard display.hasPrefix(":") || display.hasPrefix("unix:") else { return true }
        let path = "/tmp/.X11-unix/X\(number)"
        return FileManager.default.fileExists(atPath: path) && !LocalSocket.isAbandoned(path, isStream: true)
    }

    /// Whether there is a server for a device provider, whatever that makes of it.
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

    /// By the device provider that asks there: PulseAudio, or what stands in for it, and PipeWire.
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
