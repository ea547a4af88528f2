import Foundation
import GStreamer
import MediaGraphCore
import MediaGraphDescription

/// Files that elements and handlers read should be there, and those that they write in a folder that takes them. Both may come
/// before the description runs, so that is a warning; nothing is opened. What runs next says so itself.
package struct FileCheck: DescriptionCheck {
    package func problems(in element: DescribedElement) -> [Diagnostic] { problems(among: [element]) }

    package func problems(among elements: [DescribedElement]) -> [Diagnostic] {
        elements.flatMap(FileUse.all).compactMap { use in
            if use.path.isEmpty {
                return use.diagnostic("\(use.user): the file name is empty; name a file", hint: nil, severity: .error)
            }
            // Other checks'.
            if HomeFolderCheck.folder(in: use.path) != nil || ShellValue.advice("", use.path) != nil
                || StandardStreamCheck.namesStandardStream(use)
            {
                return nil
            }
            let problem: Text? =
                switch use.access {
                case .reads: problem(reading: use.path, style: use.style)
                case .writes: problem(writing: use.path, isPattern: use.style != .path)
                }
            let missing = use.missingProperty.map { "set \($0)=…" }
            return problem.flatMap { use.diagnostic($0.message, hint: $0.hint ?? missing, severity: .warning) }
        }
    }

    private typealias Text = (message: String, hint: String?)

    private func problem(reading path: String, style: FileName.Style) -> Text? {
        guard !path.utf8.contains(0) else { return nil }
        if FileName.isPattern(path, style) {
            return FileName(path, style: style)?.isUnmatched == true ? ("no file matches \"\(path)\"", nil) : nil
        }
        var isDirectory: ObjCBool = false
        guard FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory) else {
            return ("there is no file \"\(path)\"", Self.hint(forMissing: path))
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
    private static func hint(forMissing path: String) -> String? {
        if let near = nearest(to: path) { return "did you mean \"\(near)\"?" }
        return path.hasPrefix("/") ? nil : "looked for in \(FileManager.default.currentDirectoryPath)"
    }

    /// The file beside it whose name is nearly the same.
    package static func nearest(to path: String) -> String? {
        // Foundation's own `deletingLastPathComponent` traps at a name of one character.
        let folder = path.lastIndex(of: "/").map { path[...$0] } ?? ""
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.isEmpty ? "." : String(folder))) ?? []
        // A folder may hold a million of them.
        guard names.count < 10_000 else { return nil }
        return NearestName.find(String(path.dropFirst(folder.count)), among: names).map { folder + $0 }
    }
}

/// `~` is a home folder only for a shell, and only at a word's beginning: `location=~/clip.mkv` reaches GStreamer as it is.
struct HomeFolderCheck: DescriptionCheck {
    func problems(in element: DescribedElement) -> [Diagnostic] { problems(among: [element]) }

    func problems(among elements: [DescribedElement]) -> [Diagnostic] {
        elements.flatMap(FileUse.all).compactMap { use in
            guard let folder = Self.folder(in: use.path) else { return nil }
            let rest = use.path.dropFirst(folder.count)
            let home = ProcessInfo.processInfo.environment["HOME"] ?? NSHomeDirectory()
            let whole = folder == "~" ? "\(home)\(rest)" : "/home/\(folder.dropFirst())\(rest)"
            let shell = folder == "~" ? ", or $HOME\(rest) in a shell's double quotes" : ""
            return use.diagnostic(
                "GStreamer doesn't expand ~: there is no folder \"\(folder)\" here",
                hint: "write the whole path: \(whole)\(shell)", severity: .error)
        }
    }

    /// `~` or `~user` at the beginning of a path, unless there is such a folder.
    static func folder(in path: String) -> String? {
        guard path.hasPrefix("~"), let slash = path.firstIndex(of: "/") else { return nil }
        let folder = String(path[..<slash])
        return FileManager.default.fileExists(atPath: folder) ? nil : folder
    }
}

/// `location=-` is a file of that name for GStreamer's elements; handlers take it for a standard stream.
struct StandardStreamCheck: DescriptionCheck {
    func problems(in element: DescribedElement) -> [Diagnostic] { problems(among: [element]) }

    func problems(among elements: [DescribedElement]) -> [Diagnostic] {
        elements.flatMap(FileUse.all).filter(Self.namesStandardStream).compactMap { use in
            use.access == .reads
                ? use.diagnostic(
                    "\(use.user) reads a file called \"-\"", hint: "for standard input write fdsrc", severity: .warning)
                : use.diagnostic(
                    "\(use.user) writes a file called \"-\"", hint: "for standard output write fdsink",
                    severity: .warning)
        }
    }

    static func namesStandardStream(_ use: FileUse) -> Bool { use.path == "-" && !use.isDescriptor }
}
