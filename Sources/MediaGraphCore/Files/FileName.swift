import Foundation
import Glibc

/// A file name in a description, or a pattern that stands for several files.
///
/// Names are compared by the files that they lead to: relative paths and symbolic links are resolved, and existing
/// files are identified by device and inode, so that hard links count as the same file.
package struct FileName {
    package enum Style: Sendable {
        case path
        /// `printf` conversions: numbers (`%05d`), and `%s` for a name.
        case numbered
        /// The wildcards `*` and `?`, as in a shell.
        case wildcard
    }

    private struct Identity: Hashable {
        let device: UInt
        let inode: UInt

        /// `nil` if there is no regular file at this path.
        init?(_ path: String) {
            var status = stat()
            guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
            (device, inode) = (UInt(status.st_dev), UInt(status.st_ino))
        }
    }

    private let parts: [Part]
    private let identities: Set<Identity>

    /// `nil` if the file exists and isn't a regular one: bytes written to a terminal, a FIFO or `/dev/null` aren't
    /// stored.
    package init?(_ path: String, style: Style = .path) {
        guard !path.isEmpty, !path.utf8.contains(0) else { return nil }
        let style = Self.isPattern(path, style) ? style : .path
        guard style == .path else {
            (parts, identities) = Self.pattern(path, style)
            return
        }
        let resolved = Self.resolved(path)
        parts = [.text(resolved)]
        var status = stat()
        guard stat(path, &status) == 0 else {
            identities = []
            return
        }
        guard let identity = Identity(path) else { return nil }
        identities = [identity]
    }

    private static func pattern(_ path: String, _ style: Style) -> ([Part], Set<Identity>) {
        let slash = path.lastIndex(of: "/")
        let (folder, name) = slash.map { (String(path[...$0]), path[path.index(after: $0)...]) } ?? (".", path[...])
        let nameParts = Part.parts(of: String(name), style)
        // A pattern in a folder's name is compared as text.
        guard Part.parts(of: folder, style).count == 1 else { return (Part.parts(of: path, style), []) }
        let resolved = resolved(folder)
        let start = resolved == "/" ? resolved : resolved + "/"
        let parts = [Part.text(start)] + nameParts
        var identities: Set<Identity> = []
        if let pattern = Part.expression(nameParts) {
            // Limited, because a folder may hold a million files.
            let files = ((try? FileManager.default.contentsOfDirectory(atPath: resolved)) ?? []).prefix(10_000)
            for file in files where file.wholeMatch(of: pattern) != nil {
                if let identity = Identity(start + file) { identities.insert(identity) }
            }
        }
        return (parts, identities)
    }

    /// Returns whether a name stands for several files.
    package static func isPattern(_ path: String, _ style: Style) -> Bool { !Part.isFixed(Part.parts(of: path, style)) }

    /// Whether this is a pattern that no file matches. False for a pattern in a folder's name, which isn't checked.
    package var isUnmatched: Bool {
        guard identities.isEmpty, case .text(let folder) = parts.first else { return false }
        return !Part.isFixed(parts) && folder.hasSuffix("/") && folder.hasPrefix("/")
            && !parts.dropFirst().contains { if case .text(let text) = $0 { text.contains("/") } else { false } }
    }

    /// Returns whether both names can stand for the same file.
    package func overlaps(_ other: FileName) -> Bool {
        !identities.isDisjoint(with: other.identities) || covers(other) || other.covers(self)
    }

    /// Returns whether this name or pattern matches a name that `other` stands for.
    private func covers(_ other: FileName) -> Bool {
        if Part.isFixed(parts), Part.isFixed(other.parts) { return parts == other.parts }
        guard let expression = Part.expression(parts) else { return false }
        return Part.examples(other.parts).contains { $0.wholeMatch(of: expression) != nil }
    }

    /// Returns the absolute path with symbolic links resolved. The file needn't exist.
    package static func resolved(_ path: String) -> String {
        let files = FileManager.default
        var rest = Array(
            (path.hasPrefix("/") ? path : files.currentDirectoryPath + "/" + path).split(separator: "/").reversed())
        var done: [Substring] = []
        var links = 0
        while let name = rest.popLast() {
            switch name {
            case ".": continue
            case "..": _ = done.popLast()
            default:
                let next = "/" + (done + [name]).joined(separator: "/")
                // The kernel follows at most 40 links too.
                guard links < 40, let target = try? files.destinationOfSymbolicLink(atPath: next) else {
                    done.append(name)
                    continue
                }
                links += 1
                if target.hasPrefix("/") { done = [] }
                rest += target.split(separator: "/").reversed()
            }
        }
        return "/" + done.joined(separator: "/")
    }
}

extension FileName {
    /// A piece of a name.
    private enum Part: Hashable {
        case text(String)
        case number(width: Int, digits: Digits)
        /// Any text without a slash.
        case anything
        case anyCharacter

        /// The digits of a frame number, which is never negative.
        enum Digits: String {
            case decimal = "[0-9]+", octal = "[0-7]+", lowerHex = "[0-9a-f]+", upperHex = "[0-9A-F]+"
        }

        static func isFixed(_ parts: [Part]) -> Bool {
            parts.allSatisfy { if case .text = $0 { true } else { false } }
        }

        static func parts(of path: String, _ style: Style) -> [Part] {
            switch style {
            case .path: [.text(path)]
            case .numbered: numbered(path[...])
            case .wildcard:
                path.reduce(into: []) { parts, character in
                    switch character {
                    case "*": parts.append(.anything)
                    case "?": parts.append(.anyCharacter)
                    default: add(String(character), to: &parts)
                    }
                }
            }
        }

        private static func numbered(_ path: Substring) -> [Part] {
            var parts: [Part] = []
            var rest = path
            while let character = rest.first {
                if let conversion = rest.prefixMatch(of: /%[-+ #0]*([0-9]*)(?:hh|h|ll|l|z)?([diuxXos])/) {
                    let (_, width, letter) = conversion.output
                    let digits: Digits? =
                        switch letter {
                        case "s": nil
                        case "o": .octal
                        case "x": .lowerHex
                        case "X": .upperHex
                        default: .decimal
                        }
                    parts.append(digits.map { .number(width: min(Int(width) ?? 0, 20), digits: $0) } ?? .anything)
                    rest = rest[conversion.range.upperBound...]
                } else {
                    add(String(character), to: &parts)
                    rest = rest.dropFirst(rest.hasPrefix("%%") ? 2 : 1)
                }
            }
            return parts
        }

        private static func add(_ text: String, to parts: inout [Part]) {
            if case .text(let before) = parts.last {
                parts[parts.count - 1] = .text(before + text)
            } else {
                parts.append(.text(text))
            }
        }

        /// Returns an expression that matches every name that these parts stand for.
        static func expression(_ parts: [Part]) -> Regex<Substring>? {
            let text = parts.map { part in
                switch part {
                case .text(let text):
                    text.unicodeScalars.reduce(into: "") { result, scalar in
                        let isPlain = scalar.value >= 0x80 || Character(scalar).isLetter || Character(scalar).isNumber
                        result += (isPlain ? "" : "\\") + String(scalar)
                    }
                case .number(_, let digits): digits.rawValue
                case .anything: "[^/]*"
                case .anyCharacter: "[^/]"
                }
            }.joined()
            return try? Regex(text, as: Substring.self)
        }

        /// Returns some of the names that these parts stand for, short and long ones.
        static func examples(_ parts: [Part]) -> [String] {
            ["mixed", "shared", "user_a"].flatMap { word in
                [0, 1, 10, 100, 1000, 10_000, 100_000].map { number in
                    parts.map { part in
                        switch part {
                        case .text(let text): text
                        case .number(let width, _):
                            String(repeating: "0", count: max(0, width - String(number).count)) + String(number)
                        case .anything: word
                        case .anyCharacter: "0"
                        }
                    }.joined()
                }
            }
        }
    }
}
