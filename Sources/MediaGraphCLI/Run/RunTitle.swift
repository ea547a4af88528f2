import Foundation
import MediaGraph

/// What a run is called: `privacy-camera: camera → pixelate a rectangle`.
enum RunTitle {
    /// A description may be of any length; a log's line shouldn't.
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
