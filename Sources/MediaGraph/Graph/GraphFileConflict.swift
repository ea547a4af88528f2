import GStreamer
import MediaGraphCore
import MediaGraphElements

extension Graph {
    /// Why a property mustn't be set in a running graph: the element would write a file that the graph reads, or that it
    /// writes elsewhere. `nil` for any other value.
    package func fileConflict(setting property: String, of element: Element, to value: String) -> String? {
        let uses = FileUse.all(of: element, setting: property, to: value).filter { $0.access == .writes }
        guard !uses.isEmpty else { return nil }
        // A bin may have elements of its own for its file.
        let others = pipeline.allElements.filter { other in
            other != element && !other.ancestors.contains(element) && !element.ancestors.contains(other)
        }.flatMap { FileUse.all(of: $0) }
        for use in uses {
            guard let name = FileName(use.path, style: use.style) else { continue }
            let other = others.first { FileName($0.path, style: $0.style)?.overlaps(name) == true }
            guard let other else { continue }
            return
                "\(use.user) would write \(use.name), which \(other.user) \(other.access == .reads ? "reads" : "writes"); name another file"
        }
        return nil
    }
}
