import Foundation

/// The text of a pipeline description, and the file that it came from.
///
/// A description has the syntax of `gst_parse_launch`, extended by comments (from `#` at the beginning of a token,
/// outside quotes, to the end of the line), line breaks between any two tokens, and variables:
///
/// - `${NAME}` and `${NAME:-default}` are replaced by the variable's value, or by the default if the variable has no
///   value or an empty one. Outside quotes, the value may be several tokens (`CAMERA="videotestsrc is-live=true"`).
///   Inside quotes, it is always part of one value, whatever characters it contains. A default ends at the next `}`
///   (write `\}` for the character itself) and may contain variables.
/// - `${HERE}` is the folder of the description's file; for a description that isn't from a file, it is the current
///   folder. You can give it another value. `filesrc location="${HERE}/clip.mkv"` works from any folder.
/// - `$${` is a literal `${`. A `$` without a brace is an ordinary character.
///
/// A backslash at the end of a line is dropped, so you can paste lines from a shell script. Quotes and backslashes
/// follow the rules of `gst_parse_launch` and not those of a shell: double quotes around a property's value are
/// removed, and single quotes are part of the value.
public struct Description: Sendable {
    /// The name that diagnostics give the text: its file, or "description".
    public let name: String
    /// The text as written, with comments and variables.
    public let text: String
    /// The value of `${HERE}`; `nil` for the current folder.
    let folder: String?
    private let source: SourceText

    /// Creates a description from text. Diagnostics show `name` in place of a file's path.
    public init(_ text: String, name: String = "description") { self.init(text, name: name, folder: nil) }

    init(_ text: String, name: String, folder: String?) {
        self.name = name
        self.text = text
        self.folder = folder
        source = SourceText(text, name: name)
    }

    // MARK: Variables

    /// Substitutes the values of variables and parses the result. Environment variables aren't used.
    public func resolved(with variables: [String: String] = [:]) -> ResolvedDescription {
        let folder = folder ?? FileManager.default.currentDirectoryPath
        // The caller's value of HERE replaces the folder, unless it is empty.
        let values = ["HERE": folder].merging(variables) { $1.isEmpty ? $0 : $1 }
        return ResolvedDescription(self, VariableExpansion(source, variables: values), source)
    }
}
