import Foundation
import MediaGraph

/// The title of a run: `privacy-camera: camera → pixelate a rectangle`.
enum RunTitle {
    /// The title's maximum width in columns, so that a long description doesn't become an endless line in a log.
    static let longest = 200

    static func text(_ description: Description) -> String {
        let stem = ((description.name as NSString).lastPathComponent as NSString).deletingPathExtension
        let isNamed = description.name != "description" && description.name != "<stdin>"
        let body = description.title ?? (isNamed ? nil : description.text)
        let text = [isNamed ? stem : nil, body.map(oneLine)].compactMap { $0 }.joined(separator: ": ")
        return TextWidth.truncated(TextWidth.printable(text), to: longest)
    }

    private static func oneLine(_ text: String) -> String {
        text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
    }
}
