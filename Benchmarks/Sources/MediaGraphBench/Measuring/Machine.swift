import Foundation

/// The machine and the software that the numbers were measured with.
enum Machine {
    static var description: String {
        let processors = (try? String(contentsOfFile: "/proc/cpuinfo", encoding: .utf8)) ?? ""
        let model =
            processors.split(separator: "\n").first { $0.hasPrefix("model name") }?
            .split(separator: ":").last?.trimmingCharacters(in: .whitespaces) ?? "an unknown processor"
        return "\(ProcessInfo.processInfo.activeProcessorCount) cores of \(model), \(system), Swift \(swiftVersion)"
    }

    private static var system: String {
        let release = (try? String(contentsOfFile: "/etc/os-release", encoding: .utf8)) ?? ""
        let name = release.split(separator: "\n").first { $0.hasPrefix("PRETTY_NAME=") }
        return name.map { $0.dropFirst("PRETTY_NAME=".count).trimmingCharacters(in: ["\""]) } ?? "Linux"
    }

    private static var swiftVersion: String {
        #if swift(>=6.4)
            "6.4 or later"
        #elseif swift(>=6.3)
            "6.3"
        #else
            "6.2"
        #endif
    }
}
