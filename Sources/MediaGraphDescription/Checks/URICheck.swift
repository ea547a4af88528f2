import Foundation
import GStreamer

/// A file's name where a URI belongs: `uri=av.mp4` and `uri=file://av.mp4`, whose `av.mp4` is a computer's name. GStreamer only
/// says that it is invalid.
enum URICheck {
    static func problems(in context: CheckContext) -> [Problem] {
        context.factories.flatMap { index, factory -> [Problem] in
            // Other elements have URIs of their own kind.
            guard ["uridecodebin", "playbin", "urisourcebin"].contains(where: factory.name.hasPrefix) else { return [] }
            return context.parsed.elements[index].properties.compactMap { property in
                guard ["uri", "suburi"].contains(property.name), !property.isUnknown,
                    let path = path(property.value)
                else { return nil }
                return Problem(
                    place: .expanded(property.valueRange),
                    message: "\"\(property.value)\" isn't a file URI",
                    hint: "write \(property.name)=\(DescriptionText.quoted(uri(path)))")
            }
        }
    }

    /// The file that is meant; `nil` for a URI as it should be.
    private static func path(_ value: String) -> String? {
        let scheme = "file://"
        guard value.lowercased().hasPrefix(scheme) else {
            let isFile = !value.isEmpty && !value.contains(":") && ShellValue.advice("uri", value) == nil
            return isFile ? value : nil
        }
        let rest = value.dropFirst(scheme.count)
        guard let first = rest.first, first != "/", rest.prefix(while: { $0 != "/" }) != "localhost" else { return nil }
        return String(rest)
    }

    private static func uri(_ path: String) -> String {
        // "file://home/me/av.mp4" lacks a slash.
        let absolute = "/" + path
        let isAbsolute =
            !FileManager.default.fileExists(atPath: path) && FileManager.default.fileExists(atPath: absolute)
        return URL(fileURLWithPath: isAbsolute ? absolute : path).absoluteString
    }
}
