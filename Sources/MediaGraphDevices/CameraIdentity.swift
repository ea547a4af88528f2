import Foundation

/// Which camera it is, whatever its number. One that is plugged in again gets another number while somebody still has the old
/// file open, or keeps a frame of the kernel's memory.
struct CameraIdentity: Hashable, Sendable {
    /// Where it is plugged in, as sysfs has it.
    private let port: String
    /// Which of one camera's files: a USB camera has one for pictures, and one for what it says of them.
    private let index: String
    /// A USB camera's vendor and product, and its serial number where it has one.
    private let product: [String]?

    /// `nil` for what is plugged in nowhere, such as a virtual camera.
    init?(path: String, sysfs: String = "/sys") {
        let file = URL(fileURLWithPath: path).resolvingSymlinksInPath().lastPathComponent
        let entry = URL(fileURLWithPath: "\(Self.folder(sysfs))/\(file)").resolvingSymlinksInPath()
        let device = entry.appendingPathComponent("device").resolvingSymlinksInPath()
        func text(_ url: URL) -> String? {
            (try? String(contentsOf: url, encoding: .utf8))?.trimmingCharacters(in: .whitespacesAndNewlines)
        }
        guard let index = text(entry.appendingPathComponent("index")),
            FileManager.default.fileExists(atPath: device.path)
        else { return nil }
        self.index = index
        port = device.path
        // What sysfs shows for a USB camera is one of its interfaces; the folder above is the camera's.
        let camera = device.deletingLastPathComponent()
        product = text(camera.appendingPathComponent("idVendor")).flatMap { vendor in
            text(camera.appendingPathComponent("idProduct")).map { product in
                [vendor, product] + (text(camera.appendingPathComponent("serial")).map { [$0] } ?? [])
            }
        }
    }

    /// Its file now: that of the camera in the same place, else of the only one of the same make that wasn't there when this
    /// one went. `nil` while it isn't there.
    func path(besides others: Set<CameraIdentity> = [], sysfs: String = "/sys") -> String? {
        let cameras = Self.plugged(sysfs: sysfs)
        if let same = cameras.first(where: { $0.identity == self }) { return same.path }
        let alike = cameras.filter {
            product != nil && $0.identity.product == product && $0.identity.index == index
                && !others.contains($0.identity)
        }
        return alike.count == 1 ? alike[0].path : nil
    }

    /// All that are there.
    static func all(sysfs: String = "/sys") -> Set<CameraIdentity> { Set(plugged(sysfs: sysfs).map(\.identity)) }

    private static func plugged(sysfs: String) -> [(path: String, identity: CameraIdentity)] {
        let files = (try? FileManager.default.contentsOfDirectory(atPath: folder(sysfs))) ?? []
        return files.sorted().compactMap { file in
            CameraIdentity(path: "/dev/\(file)", sysfs: sysfs).map { ("/dev/\(file)", $0) }
        }
    }

    private static func folder(_ sysfs: String) -> String { "\(sysfs)/class/video4linux" }
}
