import Foundation
import TestSupport
import Testing

/// Compares the texts in the sources with the list `Tests/Messages/sources.txt`, and demands that the other lists show
/// the texts of all checks.
@Suite struct SourceMessageTests {
    private struct File {
        let path: String
        let texts: [String]
        /// Whether all of the file's texts are about a description.
        let isCheck: Bool
    }

    /// Texts of checks that no section can show.
    private static let exceptions: Set = [
        // They depend on the installed plugins.
        "element \"…\" can't be loaded", "its plugin doesn't load; run gst-inspect-1.0 … to see why",
        "… on this machine; it is in the package …", "sudo apt install …",
        " on this machine; there is one in the package …", "property \"…\" can't be set on a bin in parentheses",
        "remove it: the property can only be set while the bin is being created", "video and audio",
        "an element, or a description of a bin", "a …, which can't be written as text",
        // The superuser, as which CI runs, has all permissions.
        "no permission to read \"…\"", "no permission to write \"…\"",
        "no permission to create files in the folder of \"…\"",
        "change the file's permissions, or name another file",
        "change the folder's permissions, or name another folder",
        // The inputs are too long, or can't be written in a list.
        "bins are nested more than … deep", "remove parentheses that aren't needed",
        "nest fewer variables in each other's defaults", "the value of \"…\" contains a NUL character",
        "set … to a text without it", "a value with a line break can't end with a backslash",
        "remove the line break or the backslash: GStreamer's syntax can't express both",
        // It isn't a message.
        "bits per sec",
    ]

    /// Files that explain failures in functions and constants of their own.
    private static let explanations: Set = [
        "MediaGraph/Graph/GraphFiles.swift", "MediaGraph/Graph/GraphMediaRange.swift",
        "MediaGraph/Graph/MissingStream.swift", "MediaGraph/Graph/PlainMessage.swift",
        "MediaGraphCLI/Doctor/DeviceFamily.swift", "MediaGraphCLI/Input/LaunchOptions.swift",
        "MediaGraphCLI/Reports/RunSummary.swift", "MediaGraphDevices/DeviceFailure.swift",
        "MediaGraphDevices/DeviceSource/DeviceSourceElement+Calls.swift",
        "MediaGraphDevices/DeviceSource/DeviceSourceElement+Reconnection.swift",
        "MediaGraphDevices/ScreenCapture.swift", "MediaGraphRoomLink/ReceivedStream.swift",
        "MediaGraphRoomLink/RoomDirectory.swift", "MediaGraphSession/StreamFormat.swift",
    ]

    /// Returns the Swift files in `Sources` whose messages reach users.
    private static func files() throws -> [File] {
        let root = MessageList.package.appending(path: "Sources")
        let all = FileManager.default.enumerator(atPath: root.path)?.compactMap { $0 as? String } ?? []
        return try all.filter { $0.hasSuffix(".swift") && !$0.hasPrefix("MediaGraphTesting/") }.sorted().map { path in
            let code = try String(contentsOf: root.appending(path: path), encoding: .utf8)
            let isCheck =
                path.hasPrefix("MediaGraphDescription/Checks/") || path.hasPrefix("MediaGraphDescription/Grammar/")
                || path.hasPrefix("MediaGraphDescription/Source/") || path.hasSuffix("Check.swift")
            let isAll = isCheck || explanations.contains(path)
            return File(path: path, texts: SourceMessages.texts(in: code, isAll: isAll), isCheck: isCheck)
        }
    }

    @Test("GR-2 SE-5 the list sources.txt contains all texts of errors and warnings in the sources")
    func sources() throws {
        let current = try Self.files().filter { !$0.texts.isEmpty }.map { file in
            MessageList.Section(input: [file.path], text: file.texts.joined(separator: "\n"))
        }
        if let differences = try MessageList("sources.txt").differences(from: current) {
            Issue.record("\(differences)")
        }
    }

    @Test("GR-2 the lists show every text of the checks of descriptions, below an input that causes it")
    func shown() throws {
        let lists = try MessageList.all().filter { $0.name != "sources.txt" }
        let lines = lists.flatMap(\.sections).flatMap { $0.text.split(separator: "\n").map(String.init) }
        let missing = try Self.files().filter(\.isCheck).flatMap { file in
            file.texts.filter { text in
                !Self.exceptions.contains(text) && !lines.contains { SourceMessages.shows($0, text) }
            }.map { "\(file.path): \($0)" }
        }
        #expect(missing.isEmpty, "add inputs that cause these texts:\n\(missing.joined(separator: "\n"))")
    }

    @Test("GR-2 the texts in code are found in calls that report something, with … for values")
    func scanner() {
        let code = #"""
            // throw .timeOut(.init("a comment", actual: "isn't one of them"))
            throw .timeOut(.init("file \(path("x"))", actual: "it isn't " + "finished in \(time) s"))
            let plain = "three words here"
            public var description: String { "the \"graph\" was stopped" }
            let pattern = /"([^"]*)"/
            postError(.settings, "\(name): it's too late")
            """#
        #expect(
            SourceMessages.texts(in: code) == [
                "it isn't finished in … s", "the \"graph\" was stopped", "…: it's too late",
            ])
        #expect(SourceMessages.texts(in: code, isAll: true).contains("three words here"))
        #expect(SourceMessages.shows("file a: it isn't finished in 9 s", "it isn't finished in … s"))
        #expect(!SourceMessages.shows("it isn't finished", "it isn't finished in … s"))
    }
}
