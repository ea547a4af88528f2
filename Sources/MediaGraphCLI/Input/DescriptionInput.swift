import Foundation
import MediaGraph

/// The source of a description, as given on the command line.
enum DescriptionInput: Equatable {
    case file(String)
    case standardInput
    case text(String)

    /// Decides what an argument means:
    ///
    /// - `-` is standard input.
    /// - The name of an existing file is that file.
    /// - An argument that looks like a file is a file too, so that a mistyped path isn't taken for a description: it
    ///   ends in `.pipeline`, or it is a single word with a `/` or a `.` and isn't a URI.
    /// - Everything else is the text of a description.
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
        // A pasted command or a text of several lines is a description; for a command, the parser says what to leave
        // out.
        if word.contains(where: \.isNewline) || ShellCommand.isProgram(word[...]) { return false }
        if word.hasSuffix(".pipeline"), !word.contains("!") { return true }
        let isOneWord = !word.contains { $0.isWhitespace || $0 == "!" || $0 == "=" || $0 == "$" || $0 == "(" }
        return isOneWord && !word.contains("://") && word.contains { $0 == "/" || $0 == "." }
    }

    /// Returns whether a file exists. Directories count, so that reading one fails with a fitting error.
    static func fileExists(_ path: String) -> Bool { FileManager.default.fileExists(atPath: path) }

    /// The name of the input in reports: the file's path, or the name of the description.
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
    /// Returns the one input of a command: a file, a quoted description, or an unquoted one of several words.
    static func single(
        _ words: [String], fileExists: (String) -> Bool = Self.fileExists
    ) throws(InputError) -> DescriptionInput {
        guard let first = words.first else { throw .missing }
        let input = DescriptionInput(word: first, fileExists: fileExists)
        if words.count == 1 { return input }
        try checkSpaces(words)
        // After a file or a quoted description, nothing may follow.
        guard input.isText, !isQuotedDescription(first) else { throw .tooMany(after: first, words[1]) }
        return .text(joined(words))
    }

    /// Returns the inputs of a command that takes several: files and quoted descriptions, or the words of one unquoted
    /// description.
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

    /// Throws if a variable was written as `NAME = value`, which a shell splits into three words.
    private static func checkSpaces(_ words: [String]) throws(InputError) {
        for (name, rest) in zip(words, words.indices.dropFirst().map { words[$0...] })
        where rest.first == "=" && CommandWords.isVariableName(name[...]) {
            throw .spacedVariable(name, value: rest.dropFirst().first ?? "")
        }
    }

    /// Joins arguments to one description, as gst-launch-1.0 does (`_gst_parse_escape`): a space inside an argument,
    /// which was quoted in the shell, is escaped by a backslash unless it is in double quotes.
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

/// An error in the arguments that should name a description, or in reading it.
enum InputError: Error, Equatable, CustomStringConvertible {
    case missing
    case tooMany(after: String, String)
    case spacedVariable(String, value: String)
    case file(Description.FileError, nearest: String?)
    /// Standard input has another encoding.
    case notUTF8(Description.FileError)

    var description: String {
        switch self {
        case .missing: "there is no description: give a file, \"-\" for standard input, or the description itself"
        case .tooMany(let input, let word):
            "\"\(input)\" and \"\(word)\" look like two descriptions; give one. "
                + "If one of them is an option's value, check how the option is written"
        case .spacedVariable(let name, let value):
            "a shell splits \(name) = \(value) into three words; write \(name)=\(value) without spaces"
        case .file(let error, let nearest): "\(error)" + (nearest.map { "; did you mean \"\($0)\"?" } ?? "")
        case .notUTF8(.notText): "standard input isn't a description (UTF-8 text)"
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
