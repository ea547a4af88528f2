import Foundation
import GStreamer

/// Files that elements and handlers read should be there, and those that they write in a folder that takes them. Both may come
/// before the description runs, so that is a warning; nothing is opened. What runs next says so itself.
struct FileCheck: DescriptionCheck {
    func problems(in element: DescribedElement) -> [Diagnostic] { problems(among: [element]) }

    func problems(among elements: [DescribedElement]) -> [Diagnostic] {
        elements.flatMap(FileUse.all).compactMap { use in
            if use.path.isEmpty {
                return use.diagnostic("\(use.user): the file name is empty; name a file", hint: nil, severity: .error)
            }
            let problem: Text? =
                switch use.access {
                case .reads: use.style == .path ? problem(reading: use.path) : nil
                case .writes: problem(writing: use.path, isPattern: use.style != .path)
                }
            return problem.map { use.diagnostic($0.message, hint: $0.hint, severity: .warning) }
        }
    }

    private typealias Text = (message: String, hint: String?)

    private func problem(reading path: String) -> Text? {
        guard !path.utf8.contains(0) else { return nil }
        var isDirectory: ObjCBool = false
        guard FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory) else {
            return ("there is no file \"\(path)\"", hint(path))
        }
        if isDirectory.boolValue { return ("\"\(path)\" is a directory", nil) }
        return FileManager.default.isReadableFile(atPath: path) ? nil : ("no permission to read \"\(path)\"", nil)
    }

    private func problem(writing path: String, isPattern: Bool) -> Text? {
        guard !path.utf8.contains(0) else { return nil }
        var isDirectory: ObjCBool = false
        if !isPattern, FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory) {
            if isDirectory.boolValue { return ("\"\(path)\" is a directory", "name a file in it") }
            return FileManager.default.isWritableFile(atPath: path) ? nil : ("no permission to write \"\(path)\"", nil)
        }
        // A link may lead to a file that isn't there yet.
        let target = isPattern ? path : FileName.resolved(path)
        let folder = target.lastIndex(of: "/").map { String(target[...$0]) } ?? "."
        // The number may stand in the folder's name.
        if isPattern, folder.contains("%") { return nil }
        guard FileManager.default.fileExists(atPath: folder, isDirectory: &isDirectory), isDirectory.boolValue else {
            return ("the folder of \"\(path)\" doesn't exist", "mkdir -p \(folder)")
        }
        return FileManager.default.isWritableFile(atPath: folder)
            ? nil : ("no permission to create files in the folder of \"\(path)\"", nil)
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
