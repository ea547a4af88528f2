import Foundation
import GStreamer
import MediaGraphCore
import MediaGraphDescription

/// Warns about input files that don't exist or aren't readable, and about output files in a folder that doesn't exist
/// or isn't writable. Opens nothing.
///
/// A warning, not an error, because both may be created before the description runs. A run itself reports what is
/// missing.
package struct FileCheck: DescriptionCheck {
    package func problems(in element: DescribedElement) -> [Diagnostic] { problems(among: [element]) }

    package func problems(among elements: [DescribedElement]) -> [Diagnostic] {
        elements.flatMap(FileUse.all).compactMap { use in
            if use.path.isEmpty {
                return use.diagnostic("the file name of \(use.user) is empty", hint: "name a file", severity: .error)
            }
            // Other checks report these.
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
            return FileName(path, style: style)?.isUnmatched == true
                ? ("no file matches \"\(path)\"", Self.searched(for: path)) : nil
        }
        var isDirectory: ObjCBool = false
        guard FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory) else {
            let similar = Self.nearest(to: path).map { "did you mean \"\($0)\"?" }
            return ("there is no file \"\(path)\"", similar ?? Self.searched(for: path))
        }
        if isDirectory.boolValue { return ("\"\(path)\" is a folder", "name a file in it") }
        return FileManager.default.isReadableFile(atPath: path)
            ? nil : ("no permission to read \"\(path)\"", "change the file's permissions, or name another file")
    }

    private func problem(writing path: String, isPattern: Bool) -> Text? {
        guard !path.utf8.contains(0) else { return nil }
        var isDirectory: ObjCBool = false
        if !isPattern, FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory) {
            if isDirectory.boolValue { return ("\"\(path)\" is a folder", "name a file in it") }
            return FileManager.default.isWritableFile(atPath: path)
                ? nil : ("no permission to write \"\(path)\"", "change the file's permissions, or name another file")
        }
        // A symbolic link may lead to a file that doesn't exist yet.
        let target = isPattern ? path : FileName.resolved(path)
        let folder = target.lastIndex(of: "/").map { String(target[...$0]) } ?? "."
        // The folder's name may contain the number.
        if isPattern, folder.contains("%") { return nil }
        guard FileManager.default.fileExists(atPath: folder, isDirectory: &isDirectory), isDirectory.boolValue else {
            return ("the folder of \"\(path)\" doesn't exist", "make it with `mkdir -p \(Self.withoutSlash(folder))`")
        }
        return FileManager.default.isWritableFile(atPath: folder)
            ? nil
            : (
                "no permission to create files in the folder of \"\(path)\"",
                "change the folder's permissions, or name another folder"
            )
    }

    /// Returns a hint that says in which folder a missing file was looked for, or that the folder is missing.
    private static func searched(for path: String) -> String {
        let folder = path.lastIndex(of: "/").map { withoutSlash(String(path[...$0])) }
        let start = path.hasPrefix("/") ? nil : FileManager.default.currentDirectoryPath
        guard let folder, !folder.contains("%") else { return "looked for in \(start ?? "/")" }
        guard FileManager.default.fileExists(atPath: folder) else {
            return "there is no folder \"\(folder)\"" + (start.map { " in \($0)" } ?? "")
        }
        return start.map { "looked for in \($0)" } ?? "the folder \"\(folder)\" has no file with a similar name"
    }

    /// Returns a folder's path without the slash at its end.
    private static func withoutSlash(_ folder: String) -> String {
        folder.count > 1 && folder.hasSuffix("/") ? String(folder.dropLast()) : folder
    }

    /// Returns the path of a file in the same folder with a similar name; `nil` if there is none.
    package static func nearest(to path: String) -> String? {
        // Foundation's `deletingLastPathComponent` traps on a name of one character.
        let folder = path.lastIndex(of: "/").map { path[...$0] } ?? ""
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.isEmpty ? "." : String(folder))) ?? []
        // Comparing names takes too long in a folder with a million files.
        guard names.count < 10_000 else { return nil }
        return NearestName.find(String(path.dropFirst(folder.count)), among: names).map { folder + $0 }
    }
}

/// Reports `~` at the beginning of a path. Only a shell expands it, and only at the beginning of a word:
/// `location=~/clip.mkv` reaches GStreamer unchanged.
struct HomeFolderCheck: DescriptionCheck {
    func problems(in element: DescribedElement) -> [Diagnostic] { problems(among: [element]) }

    func problems(among elements: [DescribedElement]) -> [Diagnostic] {
        elements.flatMap(FileUse.all).compactMap { use in
            guard let folder = Self.folder(in: use.path) else { return nil }
            let rest = use.path.dropFirst(folder.count)
            let home = ProcessInfo.processInfo.environment["HOME"] ?? NSHomeDirectory()
            let whole = folder == "~" ? "\(home)\(rest)" : "/home/\(folder.dropFirst())\(rest)"
            let shell = folder == "~" ? ", or $HOME\(rest) in double quotes in a shell" : ""
            return use.diagnostic(
                "GStreamer doesn't expand ~: there is no folder \"\(folder)\" here",
                hint: "write the full path: \(whole)\(shell)", severity: .error)
        }
    }

    /// Returns `~` or `~user` at the beginning of a path; `nil` without it, or if a folder of that name exists.
    static func folder(in path: String) -> String? {
        guard path.hasPrefix("~"), let slash = path.firstIndex(of: "/") else { return nil }
        let folder = String(path[..<slash])
        return FileManager.default.fileExists(atPath: folder) ? nil : folder
    }
}

/// Warns about `location=-`, which GStreamer's elements take for a file called "-". For handlers it is a standard
/// stream.
struct StandardStreamCheck: DescriptionCheck {
    func problems(in element: DescribedElement) -> [Diagnostic] { problems(among: [element]) }

    func problems(among elements: [DescribedElement]) -> [Diagnostic] {
        elements.flatMap(FileUse.all).filter(Self.namesStandardStream).compactMap { use in
            use.access == .reads
                ? use.diagnostic(
                    "\(use.user) reads a file called \"-\"", hint: "use fdsrc for standard input", severity: .warning)
                : use.diagnostic(
                    "\(use.user) writes a file called \"-\"", hint: "use fdsink for standard output",
                    severity: .warning)
        }
    }

    static func namesStandardStream(_ use: FileUse) -> Bool { use.path == "-" && !use.isDescriptor }
}
