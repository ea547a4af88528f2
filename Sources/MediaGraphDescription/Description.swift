import Foundation

/// Text of a pipeline description, and where it came from.
///
/// A description is what `gst_parse_launch` takes, and comments (`#` at the beginning of a token, outside quotes, up to
/// the end of the line), line breaks anywhere, and variables:
///
/// - `${NAME}` and `${NAME:-default}` are replaced by the value given, or by the default when none or an empty one is.
///   Outside quotes that may be several tokens (`CAMERA="videotestsrc is-live=true"`); inside quotes it stays one value,
///   whatever it holds. A default ends with the next `}` (`\}` for the character itself) and may hold variables.
/// - `${HERE}` is the folder that the description's file is in, and for text the current one, unless it is given another
///   value: `filesrc location="${HERE}/clip.mkv"` works from any folder.
/// - `$${` is a literal `${`. A `$` without a brace means nothing.
///
/// A backslash at the end of a line is dropped, so that a line can be pasted from a shell script. Unlike in a shell,
/// quotes and backslashes are those of `gst_parse_launch`: double quotes around a property's value are taken off,
/// single quotes are part of it.
public struct Description: Sendable {
    /// What diagnostics call the text: its file, or "description".
    public let name: String
    /// The text as it was written, with comments and variables.
    public let text: String
    /// What `${HERE}` is; `nil` for the current folder.
    let folder: String?
    private let source: SourceText

    /// A description from text. `name` stands for the file in messages.
    public init(_ text: String, name: String = "description") { self.init(text, name: name, folder: nil) }

    init(_ text: String, name: String, folder: String?) {
        self.name = name
        self.text = text
        self.folder = folder
        source = SourceText(text, name: name)
    }

    // MARK: Variables

    /// The description with these values for its variables; the environment isn't looked at.
    public func resolved(with variables: [String: String] = [:]) -> ResolvedDescription {
        let folder = folder ?? FileManager.default.currentDirectoryPath
        // ${HERE} needn't be given.
        let values = ["HERE": folder].merging(variables) { $1.isEmpty ? $0 : $1 }
        return ResolvedDescription(self, VariableExpansion(source, variables: values), source)
    }
}
