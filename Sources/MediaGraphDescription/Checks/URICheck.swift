import Foundation
import GStreamer

/// Finds file names in place of URIs: `uri=av.mp4`, and `uri=file://av.mp4`, in which `av.mp4` is a host name.
/// GStreamer reports only that the URI is invalid.
enum URICheck {
    static func problems(in context: CheckContext) -> [Problem] {
        context.factories.flatMap { index, factory -> [Problem] in
            // The URIs of other elements may have other forms.
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

    /// Returns the path of the intended file; `nil` for a correct URI.
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
        // In "file://home/me/av.mp4", the third slash is missing.
        let absolute = "/" + path
        let isAbsolute =
            !FileManager.default.fileExists(atPath: path) && FileManager.default.fileExists(atPath: absolute)
        return URL(fileURLWithPath: isAbsolute ? absolute : path).absoluteString
    }
}
