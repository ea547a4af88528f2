import Foundation
import Synchronization

/// Which Debian package has an element that this machine lacks: packages of GStreamer plugins list their elements in the
/// field `Gstreamer-Elements`, and what URIs they handle in two more.
package final class DebianPackages: Sendable {
    /// What apt's package lists on this machine say, read when first asked.
    package static let shared = DebianPackages { AptLists.records() }

    private struct Index {
        var elements: [String: String] = [:]
        var uriSources: [String: String] = [:]
        var uriSinks: [String: String] = [:]
    }

    private let read: @Sendable () -> String
    private let index = Mutex<Index?>(nil)

    /// - Parameter read: gives the fields `Package` and `Gstreamer-…` of packages, a line each.
    init(read: @escaping @Sendable () -> String) { self.read = read }

    /// Elements whose packages don't list them, and those that are asked for most: where apt has no lists yet.
    private static let known = [
        "rtspclientsink": "gstreamer1.0-rtsp", "v4l2src": "gstreamer1.0-plugins-good",
        "v4l2sink": "gstreamer1.0-plugins-good", "ximagesrc": "gstreamer1.0-plugins-good",
        "pulsesrc": "gstreamer1.0-pulseaudio", "pulsesink": "gstreamer1.0-pulseaudio", "alsasrc": "gstreamer1.0-alsa",
        "alsasink": "gstreamer1.0-alsa", "ximagesink": "gstreamer1.0-x", "xvimagesink": "gstreamer1.0-x",
        "pipewiresrc": "gstreamer1.0-pipewire", "x264enc": "gstreamer1.0-plugins-ugly",
        "vp8enc": "gstreamer1.0-plugins-good",
    ]

    package func package(ofElement name: String) -> String? { loaded().elements[name] ?? Self.known[name] }

    func package(ofURI name: String, isSink: Bool) -> String? {
        isSink ? loaded().uriSinks[name] : loaded().uriSources[name]
    }

    private func loaded() -> Index {
        index.withLock { index in
            if let index { return index }
            let new = Self.index(read())
            index = new
            return new
        }
    }

    private static func index(_ records: String) -> Index {
        var index = Index()
        var package = ""
        for line in records.split(whereSeparator: \.isNewline) {
            guard let colon = line.firstIndex(of: ":") else { continue }
            let value = line[line.index(after: colon)...].trimmingCharacters(in: .whitespaces)
            func add(to table: inout [String: String]) {
                // The first list's packages, in the order of the lists.
                for name in value.split(separator: ",") {
                    table.merge([name.trimmingCharacters(in: .whitespaces): package]) { first, _ in first }
                }
            }
            switch line[..<colon] {
            case "Package": package = value
            case "Gstreamer-Elements": add(to: &index.elements)
            case "Gstreamer-Uri-Sources": add(to: &index.uriSources)
            case "Gstreamer-Uri-Sinks": add(to: &index.uriSinks)
            default: break
            }
        }
        return index
    }
}

/// The package lists that `apt update` fetched. Asking apt-cache for them takes four times as long.
private enum AptLists {
    static let directory = "/var/lib/apt/lists"
    static let helper = "/usr/lib/apt/apt-helper"
    /// A message is worth waiting for only so long.
    static let timeLimit = 1.5

    /// The fields of interest of all packages; empty without apt, or when it takes too long.
    static func records() -> String {
        let files = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
        let lists = files.filter { $0.contains("_Packages") }.sorted().map { "\(directory)/\($0)" }
        guard !lists.isEmpty, FileManager.default.isExecutableFile(atPath: helper) else { return "" }
        // cat-file unpacks whatever compression the lists have. The pipe ends when grep does; timeout ends both.
        let script = """
            "$0" cat-file "$@" | grep -E '^(Package|Gstreamer-(Elements|Uri-Sources|Uri-Sinks)):' | \
            grep -B1 '^Gstreamer-' | grep -v '^--$'
            """
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/timeout")
        process.arguments = ["\(timeLimit)", "/bin/sh", "-c", script, helper] + lists
        process.environment = ["LC_ALL": "C", "PATH": "/usr/bin:/bin"]
        let output = Pipe()
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        process.standardInput = FileHandle.nullDevice
        guard (try? process.run()) != nil else { return "" }
        let data = (try? output.fileHandleForReading.readToEnd()) ?? Data()
        process.waitUntilExit()
        return String(decoding: data, as: UTF8.self)
    }
}
