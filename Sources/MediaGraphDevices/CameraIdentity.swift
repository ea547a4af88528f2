import Foundation

/// Identifies a camera independently of the number in its device file. A camera that is plugged in again gets another
/// number while a program still has the old file open, or holds a frame in the kernel's memory.
struct CameraIdentity: Hashable, Sendable {
    /// The port that the camera is plugged in to, as its path in sysfs.
    private let port: String
    /// Distinguishes the device files of one camera: a USB camera has one for pictures, and one for their metadata.
    private let index: String
    /// A USB camera's vendor and product IDs, and its serial number if it has one.
    private let product: [String]?

    /// `nil` for a camera without a port, such as a virtual one.
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
        // For a USB camera, `device` is one of its interfaces; the folder above it is the camera's.
        let camera = device.deletingLastPathComponent()
        product = text(camera.appendingPathComponent("idVendor")).flatMap { vendor in
            text(camera.appendingPathComponent("idProduct")).map { product in
                [vendor, product] + (text(camera.appendingPathComponent("serial")).map { [$0] } ?? [])
            }
        }
    }

    /// Returns the camera's current device file: that of the camera at the same port, or otherwise of the only camera
    /// with the same product and serial number that isn't in `others`, the cameras that were present when this one was
    /// lost. `nil` if there is no such camera.
    func path(besides others: Set<CameraIdentity> = [], sysfs: String = "/sys") -> String? {
        let cameras = Self.plugged(sysfs: sysfs)
        if let same = cameras.first(where: { $0.identity == self }) { return same.path }
        let alike = cameras.filter {
            product != nil && $0.identity.product == product && $0.identity.index == index
                && !others.contains($0.identity)
        }
        return alike.count == 1 ? alike[0].path : nil
    }

    /// Returns all cameras that are plugged in.
    static func all(sysfs: String = "/sys") -> Set<CameraIdentity> { Set(plugged(sysfs: sysfs).map(\.identity)) }

    private static func plugged(sysfs: String) -> [(path: String, identity: CameraIdentity)] {
        let files = (try? FileManager.default.contentsOfDirectory(atPath: folder(sysfs))) ?? []
        return files.sorted().compactMap { file in
            CameraIdentity(path: "/dev/\(file)", sysfs: sysfs).map { ("/dev/\(file)", $0) }
        }
    }

    private static func folder(_ sysfs: String) -> String { "\(sysfs)/class/video4linux" }
}
