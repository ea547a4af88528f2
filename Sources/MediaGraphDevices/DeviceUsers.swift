import Foundation

/// Finds the programs that have a device's file open.
enum DeviceUsers {
    /// Returns `name (process)` for each program that has the file open, as far as this process may see it. Empty if
    /// the path isn't in `/dev`.
    static func of(_ path: String?) -> [String] {
        guard let path, path.hasPrefix("/dev/") else { return [] }
        let files = FileManager.default
        let processes = (try? files.contentsOfDirectory(atPath: "/proc"))?.compactMap { Int($0) } ?? []
        return processes.sorted().compactMap { process in
            let folder = "/proc/\(process)/fd"
            let open = (try? files.contentsOfDirectory(atPath: folder)) ?? []
            guard open.contains(where: { (try? files.destinationOfSymbolicLink(atPath: "\(folder)/\($0)")) == path })
            else { return nil }
            let name = (try? String(contentsOfFile: "/proc/\(process)/comm", encoding: .utf8)) ?? "?"
            return "\(name.trimmingCharacters(in: .whitespacesAndNewlines)) (\(process))"
        }
    }
}
