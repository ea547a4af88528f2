import Foundation
import GStreamer

/// Files that elements and handlers read should be there. They may come before the description runs, so that is a
/// warning; nothing is opened. What runs next says so itself.
struct FileCheck: DescriptionCheck {
    /// Elements whose property names a file that they read, as a path or as a URI.
    private static let paths = ["filesrc": "location"]
    private static let uris = [
        "playbin": "uri", "playbin3": "uri", "uridecodebin": "uri", "uridecodebin3": "uri", "urisourcebin": "uri",
    ]

    func problems(in element: DescribedElement) -> [Diagnostic] {
        var found: [Diagnostic] = []
        if let name = Self.paths[element.factory], let property = element.property(name), let path = property.value {
            found += problem(with: path).map { [property.warning($0)] } ?? []
        }
        if let name = Self.uris[element.factory], let property = element.property(name),
            let url = property.value.flatMap({ URL(string: $0) }), url.isFileURL
        {
            found += problem(with: url.path).map { [property.warning($0)] } ?? []
        }
        return found + HandlerPlace.all(of: element.factory).flatMap { handlersFiles($0, element) }
    }

    /// The files that a handler's options name.
    private func handlersFiles(_ place: HandlerPlace, _ element: DescribedElement) -> [Diagnostic] {
        guard let name = element.property(place.handler)?.value, let options = element.property(place.options),
            let text = options.value, let values = try? HandlerOptions(text, handler: name),
            let entry = HandlerRegistry.shared.handlers(place).first(where: { $0.name == name })
        else { return [] }
        return entry.options.filter(\.isInput).compactMap { option in
            guard let path = values.text(option.name), path != "-", let problem = problem(with: path) else {
                return nil
            }
            return options.warning(problem).narrowed(toOption: option.name)
        }
    }

    private func problem(with path: String) -> (message: String, hint: String?)? {
        guard !path.isEmpty, !path.utf8.contains(0) else { return nil }
        var isDirectory: ObjCBool = false
        guard FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory) else {
            return ("there is no file \"\(path)\"", hint(path))
        }
        if isDirectory.boolValue { return ("\"\(path)\" is a directory", nil) }
        return FileManager.default.isReadableFile(atPath: path) ? nil : ("\"\(path)\" may not be read", nil)
    }

    /// A file of nearly that name, or else the folder in which it was looked for.
    private func hint(_ path: String) -> String? {
        // Foundation's own `deletingLastPathComponent` traps at a name of one character.
        let folder = path.lastIndex(of: "/").map { path[...$0] } ?? ""
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.isEmpty ? "." : String(folder))) ?? []
        // A folder may hold a million of them.
        if names.count < 10_000, let near = NearestName.find(String(path.dropFirst(folder.count)), among: names) {
            return "did you mean \"\(folder)\(near)\"?"
        }
        return path.hasPrefix("/") ? nil : "looked for in \(FileManager.default.currentDirectoryPath)"
    }
}

extension DescribedProperty {
    fileprivate func warning(_ problem: (message: String, hint: String?)) -> Diagnostic {
        diagnostic(problem.message, hint: problem.hint, severity: .warning)
    }
}
