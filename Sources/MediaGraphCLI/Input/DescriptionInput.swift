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
        try checkSpaces(words)
        // A word with a link in it is all of a description.
        guard input.isText, !isQuotedDescription(first) else { throw .tooMany(after: first, words[1]) }
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
        try checkSpaces(words)
        let stray = zip(words, inputs).first { word, input in
            input.isText && !isQuotedDescription(word)
        }
        guard let stray else { return inputs }
        guard inputs[0].isText else { throw .tooMany(after: first, stray.0) }
        return [.text(joined(words))]
    }

    private static func isQuotedDescription(_ word: String) -> Bool {
        word.contains("!") && word.contains { $0.isWhitespace }
    }

    /// `NAME = value`, which a shell makes three words of.
    private static func checkSpaces(_ words: [String]) throws(InputError) {
        for (name, rest) in zip(words, words.indices.dropFirst().map { words[$0...] })
        where rest.first == "=" && CommandWords.isVariableName(name[...]) {
            throw .spacedVariable(name, value: rest.dropFirst().first ?? "")
        }
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
    case spacedVariable(String, value: String)
    case file(Description.FileError, nearest: String?)
    /// Standard input.
    case notUTF8(Description.FileError)

    var description: String {
        switch self {
        case .missing: "there is no description: give a file, \"-\" for standard input, or the description itself"
        case .tooMany(let input, let word):
            "give only one description: \"\(input)\" and \"\(word)\" both look like one "
                + "(the value of a mistyped option does, too)"
        case .spacedVariable(let name, let value):
            "\(name) = \(value) is three words for the shell: write \(name)=\(value)"
        case .file(let error, let nearest): "\(error)" + (nearest.map { "; did you mean \"\($0)\"?" } ?? "")
        case .notUTF8(.notText): "standard input isn't UTF-8 text"
        case .notUTF8(.isUTF16): "standard input is UTF-16 text: convert it to UTF-8"
        case .notUTF8: "standard input isn't UTF-8 text: convert it to UTF-8"
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
            guard let text = String(validating: data, as: UTF8.self) else {
                throw .notUTF8(Description.encodingError(of: Array(data), path: "<stdin>"))
            }
            return Description(text, name: "<stdin>")
        }
    }
}
