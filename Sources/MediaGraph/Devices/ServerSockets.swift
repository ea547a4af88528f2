import Foundation

/// The sockets of this machine's X servers, and of the sound servers that clients of this process get.
///
/// A server that ends by itself takes its file away; one that is killed leaves it behind, and the next one may take it over. The
/// kernel knows whether somebody answers at it.
enum ServerSockets {
    /// Which they are, and whether somebody answers: another text for another server.
    static var sound: [String] {
        let listening = listening
        return paths.compactMap { identity($0.path, listening) }
    }

    static var screens: [String] {
        let folder = "/tmp/.X11-unix"
        let listening = listening
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        return names.sorted().compactMap { identity("\(folder)/\($0)", listening) }
    }

    /// Whether there is a server for a device provider, whatever that makes of it.
    static func isAnswered(for provider: String) -> Bool {
        let listening = listening
        return paths.contains { $0.provider == provider && listening.contains($0.path) }
    }

    private static func identity(_ path: String, _ listening: Set<String>) -> String? {
        guard let attributes = try? FileManager.default.attributesOfItem(atPath: path) else { return nil }
        let time = attributes[.creationDate] ?? attributes[.modificationDate] ?? 0
        return "\(path) \(attributes[.systemFileNumber] ?? 0) \(time) \(listening.contains(path))"
    }

    /// The paths of the sockets that a process answers at.
    private static var listening: Set<String> {
        // Names may be any bytes.
        let list = String(decoding: FileManager.default.contents(atPath: "/proc/net/unix") ?? Data(), as: UTF8.self)
        return Set(
            list.split(separator: "\n").compactMap { line in
                // Number, reference count, protocol, flags, type, state, inode, path.
                let fields = line.split(separator: " ", maxSplits: 7)
                return fields.count == 8 && fields[3] == "00010000" ? String(fields[7]) : nil
            })
    }

    /// By the device provider that asks there: PulseAudio, or what stands in for it, and PipeWire.
    private static let paths: [(provider: String, path: String)] = {
        let environment = ProcessInfo.processInfo.environment
        let folder = environment["XDG_RUNTIME_DIR"] ?? "/run/user/\(getuid())"
        // As `{machine}unix:/path tcp:host`.
        let named = (environment["PULSE_SERVER"] ?? "").split(separator: " ").compactMap { server in
            server.range(of: "unix:").map { String(server[$0.upperBound...]) }
                ?? (server.hasPrefix("/") ? String(server) : nil)
        }
        let pulse = environment["PULSE_SERVER"] == nil ? ["\(folder)/pulse/native"] : named
        return pulse.map { ("pulsedeviceprovider", $0) } + [("pipewiredeviceprovider", "\(folder)/pipewire-0")]
    }()
}
