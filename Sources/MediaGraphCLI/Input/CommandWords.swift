import MediaGraph

/// The arguments of a command, divided into the description's variables (`NAME=value`) and the rest.
struct CommandWords: Equatable {
    var rest: [String] = []
    var variables: [String: String] = [:]
    /// Variables that were given different values. The last one is used.
    var repeated: [String] = []

    /// Names of variables are in capital letters, unlike those of properties: `width=320` belongs to the description.
    init(_ words: [String]) {
        for word in words {
            if let separator = word.firstIndex(of: "="), Self.isVariableName(word[..<separator]),
                !ShellCommand.followsVariables(word)
            {
                let (name, value) = (String(word[..<separator]), String(word[word.index(after: separator)...]))
                if let first = variables.updateValue(value, forKey: name), first != value, !repeated.contains(name) {
                    repeated.append(name)
                }
            } else {
                rest.append(word)
            }
        }
    }

    /// Returns whether the name matches `[A-Z_][A-Z0-9_]*`.
    static func isVariableName(_ name: Substring) -> Bool {
        let bytes = name.utf8
        guard let first = bytes.first, !(UInt8(ascii: "0")...UInt8(ascii: "9")).contains(first) else { return false }
        return bytes.allSatisfy { byte in
            (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte)
                || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
                || byte == UInt8(ascii: "_")
        }
    }
}
