import Foundation

/// A list of the product's messages in `Tests/Messages`: sections of an input and the text that it causes.
///
/// The lines of an input begin with `### `; the lines up to the next input are its text. Lines that begin with `## ` are
/// headings, and the lines before the first heading or input are an introduction.
public struct MessageList: Sendable {
    /// An input and the text that it causes.
    public struct Section: Equatable, Sendable {
        /// The heading above the section, if it is the first below one.
        public var heading: String?
        /// The lines of the input, without their prefix.
        public var input: [String]
        /// The text. Empty lines at its end aren't significant.
        public var text: String

        public init(heading: String? = nil, input: [String], text: String = "") {
            (self.heading, self.input, self.text) = (heading, input, text)
        }
    }

    /// The file's name.
    public let name: String
    /// The lines above the first section.
    public let introduction: String
    /// The sections in the file's order.
    public let sections: [Section]

    private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    /// The package's folder.
    public static let package = root.deletingLastPathComponent()
    private static let folder = root.appending(path: "Messages")
    private static let isUpdating = ProcessInfo.processInfo.environment["UPDATE_MESSAGES"] == "1"

    /// Returns all lists.
    public static func all() throws -> [MessageList] {
        try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0.hasSuffix(".txt") }.sorted()
            .map { try MessageList($0) }
    }

    /// Reads a list.
    public init(_ name: String) throws {
        let text = try String(contentsOf: Self.folder.appending(path: name), encoding: .utf8)
        var introduction: [Substring] = []
        var sections: [Section] = []
        var heading: String?
        var endsInput = true
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            if line.hasPrefix("## ") {
                heading = String(line)
                endsInput = true
            } else if line.hasPrefix("### ") {
                let input = String(line.dropFirst(4))
                if endsInput {
                    sections.append(Section(heading: heading, input: [input]))
                    heading = nil
                } else {
                    sections[sections.count - 1].input.append(input)
                }
                endsInput = false
            } else if sections.isEmpty {
                if heading == nil { introduction.append(line) }
            } else {
                sections[sections.count - 1].text += line + "\n"
                endsInput = true
            }
        }
        self.name = name
        self.introduction = introduction.joined(separator: "\n").trimmingCharacters(in: .newlines)
        self.sections = sections.map {
            Section(heading: $0.heading, input: $0.input, text: Self.trimmed($0.text))
        }
    }

    private static func trimmed(_ text: String) -> String {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
            .map { $0.replacing(#/\s+$/#, with: "") }
        return lines.joined(separator: "\n").trimmingCharacters(in: .newlines)
    }

    /// Compares the list with what the product says today, or rewrites the file if `UPDATE_MESSAGES` is 1.
    ///
    /// - Parameter current: The sections as they are today; those of the file without its texts, if the file determines
    ///   the inputs.
    /// - Returns: The differences, for people; `nil` if there are none.
    public func differences(from current: [Section]) throws -> String? {
        let current = current.map { Section(heading: $0.heading, input: $0.input, text: Self.trimmed($0.text)) }
        if Self.isUpdating {
            try text(of: current).write(to: Self.folder.appending(path: name), atomically: true, encoding: .utf8)
            return nil
        }
        let (old, new) = (Self.byInput(sections), Self.byInput(current))
        var found: [String] = []
        for section in current where old[section.input] != section.text {
            found.append(Self.difference(section.input, old[section.input], section.text))
        }
        for section in sections where new[section.input] == nil {
            found.append(Self.difference(section.input, section.text, nil))
        }
        guard !found.isEmpty else { return nil }
        return "Tests/Messages/\(name) differs from what the product says (-: the file, +: the product):\n\n"
            + found.joined(separator: "\n\n")
            + "\n\nIf the new texts are right, run the test with UPDATE_MESSAGES=1, and read the file's changes."
    }

    private static func byInput(_ sections: [Section]) -> [[String]: String] {
        Dictionary(sections.map { ($0.input, $0.text) }) { first, _ in first }
    }

    private func text(of sections: [Section]) -> String {
        sections.reduce(into: introduction + "\n") { text, section in
            if let heading = section.heading { text += "\n" + heading + "\n" }
            text += "\n" + section.input.map { "### \($0)\n" }.joined() + section.text + "\n"
        }
    }

    private static func difference(_ input: [String], _ old: String?, _ new: String?) -> String {
        func lines(_ text: String?) -> [Substring] {
            text.map { $0.split(separator: "\n", omittingEmptySubsequences: false) } ?? []
        }
        let change = lines(new).difference(from: lines(old))
        let removed = change.removals.map { step in
            if case .remove(_, let line, _) = step { "- \(line)" } else { "" }
        }
        let added = change.insertions.map { step in
            if case .insert(_, let line, _) = step { "+ \(line)" } else { "" }
        }
        let note = old == nil ? ["(not in the file)"] : new == nil ? ["(only in the file)"] : []
        return (input.map { "### \($0)" } + note + removed + added).joined(separator: "\n")
    }
}
