import Foundation
import MediaGraph

/// Finds the description file that a mistyped path was meant to name.
enum NearestFile {
    /// Returns a file with a similar name from the same folder or from `Pipelines/`; `nil` if there is none.
    static func find(_ path: String) -> String? {
        let url = URL(fileURLWithPath: path)
        let folder = path.contains("/") ? (path as NSString).deletingLastPathComponent : ""
        for candidate in folder == "Pipelines" ? [folder] : [folder, "Pipelines"] {
            let names =
                (try? FileManager.default.contentsOfDirectory(atPath: candidate.isEmpty ? "." : candidate)) ?? []
            let files = names.filter { $0.hasSuffix(".pipeline") }
            let stems = Dictionary(files.map { (stem($0), $0) }, uniquingKeysWith: { first, _ in first })
            let wanted = stem(url.lastPathComponent)
            let found = stems[wanted] ?? NearestName.find(wanted, among: stems.keys.sorted()).flatMap { stems[$0] }
            guard let found else { continue }
            return candidate.isEmpty ? found : (candidate as NSString).appendingPathComponent(found)
        }
        return nil
    }

    private static func stem(_ name: String) -> String { (name as NSString).deletingPathExtension }
}
