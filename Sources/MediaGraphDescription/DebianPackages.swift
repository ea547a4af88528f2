import Foundation
import Synchronization

/// Finds the Debian package of an element that isn't installed. Packages of GStreamer plugins list their elements in
/// the field `Gstreamer-Elements`, and the URI protocols that they handle in `Gstreamer-Uri-Sources` and
/// `Gstreamer-Uri-Sinks`.
package final class DebianPackages: Sendable {
    /// The packages in apt's lists on this machine. The lists are read on first use.
    package static let shared = DebianPackages { AptLists.records() }

    private struct Index {
        var elements: [String: String] = [:]
        var uriSources: [String: String] = [:]
        var uriSinks: [String: String] = [:]
    }

    private let read: @Sendable () -> String
    private let index = Mutex<Index?>(nil)

    /// - Parameter read: returns the fields `Package` and `Gstreamer-…` of packages, one per line.
    init(read: @escaping @Sendable () -> String) { self.read = read }

    /// Packages of elements that apt's lists may not have: their packages don't list them, or apt has no lists yet. For
    /// the second case, these are the most common elements.
    private static let known = [
        "rtspclientsink": "gstreamer1.0-rtsp", "v4l2src": "gstreamer1.0-plugins-good",
        "v4l2sink": "gstreamer1.0-plugins-good", "ximagesrc": "gstreamer1.0-plugins-good",
        "pulsesrc": "gstreamer1.0-pulseaudio", "pulsesink": "gstreamer1.0-pulseaudio", "alsasrc": "gstreamer1.0-alsa",
        "alsasink": "gstreamer1.0-alsa", "ximagesink": "gstreamer1.0-x", "xvimagesink": "gstreamer1.0-x",
        "pipewiresrc": "gstreamer1.0-pipewire", "x264enc": "gstreamer1.0-plugins-ugly",
        "vp8enc": "gstreamer1.0-plugins-good",
    ]

    /// Returns the package that contains the element `name`; `nil` if none is known.
    package func package(ofElement name: String) -> String? { loaded().elements[name] ?? Self.known[name] }

    /// Returns the package with an element that reads URIs of the protocol `name` or, for `isSink`, writes to them.
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
                // The first list that contains the name decides.
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

/// The package lists that `apt update` fetched. Reading them with apt-cache takes four times as long.
private enum AptLists {
    static let directory = "/var/lib/apt/lists"
    static let helper = "/usr/lib/apt/apt-helper"
    /// The longest time for which a message may wait for a package's name.
    static let timeLimit = Duration.milliseconds(1500)

    /// Returns the fields `Package` and `Gstreamer-…` of all packages with GStreamer plugins; empty without apt, or
    /// when reading exceeds `timeLimit`.
    static func records() -> String {
        let files = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
        let lists = files.filter { $0.contains("_Packages") }.sorted().map { "\(directory)/\($0)" }
        guard !lists.isEmpty, FileManager.default.isExecutableFile(atPath: helper) else { return "" }
        // cat-file decompresses the lists, whatever their format. The pipe ends when grep does; timeout ends both.
        let script = """
            "$0" cat-file "$@" | grep -E '^(Package|Gstreamer-(Elements|Uri-Sources|Uri-Sinks)):' | \
            grep -B1 '^Gstreamer-' | grep -v '^--$'
            """
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/timeout")
        process.arguments = ["\(timeLimit.seconds)", "/bin/sh", "-c", script, helper] + lists
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
