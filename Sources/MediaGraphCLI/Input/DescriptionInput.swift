import Foundation
import MediaGraph

/// Where a description comes from, as the words on the command line say.
enum DescriptionInput: Equatable {
    case file(String)
    case standardInput
    case text(String)

    /// - `-` is standard input.
    /// - A word that names a file that exists is that file.
    /// - A word that can only be meant as a file is one too, so that a mistyped path isn't taken for a description: it
    ///   ends in `.pipeline`, or it is one word with a `/` or a `.` and is no URI.
    /// - Everything else is a description.
    init(word: String, fileExists: (String) -> Bool) {
        if word == "-" {
            self = .standardInput
        } else if fileExists(word) || Self.looksLikeFile(word) {
            self = .file(word)
        } else {
            self = .text(word)
        }
    }

    static func looksLikeFile(_ word: String) -> Bool {
        // A pasted command, which is told as one.
        if word.contains(where: \.isNewline) || ShellCommand.isProgram(word[...]) { return false }
        if word.hasSuffix(".pipeline"), !word.contains("!") { return true }
        let isOneWord = !word.contains { $0.isWhitespace || $0 == "!" || $0 == "=" || $0 == "$" || $0 == "(" }
        return isOneWord && !word.contains("://") && word.contains { $0 == "/" || $0 == "." }
    }

    /// Names a file that exists; directories count, so that they are refused as such.
    static func fileExists(_ path: String) -> Bool { FileManager.default.fileExists(atPath: path) }

    /// What reports call it: the file, or as its description is called.
    var label: String {
        switch self {
        case .text: "description"
        case .file(let path): path
        case .standardInput: "<stdin>"
        }
    }

    var isText: Bool { if case .text = self { true } else { false } }
}

extension DescriptionInput {
    /// The one input of a command: a file, a description in one word, or an unquoted one in several.
    static func single(
        _ words: [String], fileExists: (String) -> Bool = Self.fileExists
    ) throws(InputError) -> DescriptionInput {
        guard let first = words.first else { throw .missing }
        let input = DescriptionInput(word: first, fileExists: fileExists)
        if words.count == 1 { return input }
        guard input.isText else { throw .tooMany(after: first, words[1]) }
        return .text(joined(words))
    }

    /// The inputs of a command that takes several: each file and each quoted description by itself; words that are neither
    /// are one unquoted description.
    static func several(
        _ words: [String], fileExists: (String) -> Bool = Self.fileExists
    ) throws(InputError) -> [DescriptionInput] {
        guard let first = words.first else { throw .missing }
        let inputs = words.map { DescriptionInput(word: $0, fileExists: fileExists) }
        if words.count == 1 { return inputs }
        let stray = zip(words, inputs).first { word, input in
            input.isText && !(word.contains("!") && word.contains { $0.isWhitespace })
        }
        guard let stray else { return inputs }
        guard inputs[0].isText else { throw .tooMany(after: first, stray.0) }
        return [.text(joined(words))]
    }

    /// Words of a shell as one description, as gst-launch-1.0 does it (`_gst_parse_escape`): a space inside a word, where
    /// the shell's quotes were, gets a backslash unless it is in double quotes.
    static func joined(_ words: [String]) -> String {
        words.map { word in
            var result = ""
            var isQuoted = false
            var previous: Character?
            for character in word {
                if character == "\"", !isQuoted || previous != "\\" { isQuoted.toggle() }
                if character == " ", !isQuoted { result.append("\\") }
                result.append(character)
                previous = character
            }
            return result
        }.joined(separator: " ")
    }
}

/// Why the words on the command line name no description.
enum InputError: Error, Equatable, CustomStringConvertible {
    case missing
    case tooMany(after: String, String)
    case file(Description.FileError, nearest: String?)
    case notUTF8

    var description: String {
        switch self {
        case .missing: "there is no description: give a file, \"-\" for standard input, or the description itself"
        case .tooMany(let input, let word):
            "one description at a time: \"\(input)\" is one already, what is \"\(word)\"? "
                + "(A mistyped option's value is taken for one too.)"
        case .file(let error, let nearest): "\(error)" + (nearest.map { "; did you mean \"\($0)\"?" } ?? "")
        case .notUTF8: "standard input isn't UTF-8 text"
        }
    }
}

extension DescriptionInput {
    func load() throws(InputError) -> Description {
        switch self {
        case .text(let text): return Description(text)
        case .file(let path):
            do { return try Description(contentsOfFile: path) } catch {
                throw .file(error, nearest: error == .notFound(path: path) ? NearestFile.find(path) : nil)
            }
        case .standardInput:
            let limit = Description.maximumLength
            let data = (try? FileHandle.standardInput.read(upToCount: limit + 1)) ?? Data()
            guard data.count <= limit else { throw .file(.tooLong(path: "<stdin>", limit: limit), nearest: nil) }
            guard let text = String(validating: data, as: UTF8.self) else { throw .notUTF8 }
            return Description(text, name: "<stdin>")
        }
    }
}
