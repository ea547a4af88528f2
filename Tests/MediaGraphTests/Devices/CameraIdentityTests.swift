import Foundation
import Testing

@testable import MediaGraphDevices

@Suite struct CameraIdentityTests {
    private let folder: TemporaryFolder
    private var sysfs: String { folder.path }

    init() throws {
        folder = try TemporaryFolder()
        try make("class/video4linux")
    }

    private func make(_ path: String) throws {
        try FileManager.default.createDirectory(atPath: folder.file(path), withIntermediateDirectories: true)
    }

    private func write(_ text: String, to path: String) throws {
        try "\(text)\n".write(toFile: folder.file(path), atomically: true, encoding: .utf8)
    }

    /// Creates a USB camera's files as in sysfs. The camera's first device file is the one for video.
    private func plugIn(_ port: String, _ numbers: [Int], serial: String? = nil, product: String = "0825") throws {
        let camera = "devices/pci0/usb1/\(port)"
        for (index, number) in numbers.enumerated() {
            let entry = "\(camera)/\(port):1.0/video4linux/video\(number)"
            try make(entry)
            try write("\(index)", to: "\(entry)/index")
            try FileManager.default.createSymbolicLink(
                atPath: "\(sysfs)/\(entry)/device", withDestinationPath: "../../../\(port):1.0")
            try FileManager.default.createSymbolicLink(
                atPath: "\(sysfs)/class/video4linux/video\(number)", withDestinationPath: "../../\(entry)")
        }
        try write("046d", to: "\(camera)/idVendor")
        try write(product, to: "\(camera)/idProduct")
        if let serial { try write(serial, to: "\(camera)/serial") }
    }

    private func unplug(_ port: String) throws {
        let links = "\(sysfs)/class/video4linux"
        for file in try FileManager.default.contentsOfDirectory(atPath: links)
        where try FileManager.default.destinationOfSymbolicLink(atPath: "\(links)/\(file)").contains("/\(port)/") {
            try FileManager.default.removeItem(atPath: "\(links)/\(file)")
        }
        try FileManager.default.removeItem(atPath: "\(sysfs)/devices/pci0/usb1/\(port)")
    }

    private func identity(_ number: Int) -> CameraIdentity? {
        CameraIdentity(path: "/dev/video\(number)", sysfs: sysfs)
    }

    @Test("DV-2 a camera that reappears with another number is found, with its video device")
    func renumbered() throws {
        try plugIn("1-1", [0, 1])
        let camera = try #require(identity(0))
        #expect(camera.path(sysfs: sysfs) == "/dev/video0")
        try unplug("1-1")
        #expect(camera.path(sysfs: sysfs) == nil)
        try plugIn("1-1", [2, 3])
        #expect(camera.path(sysfs: sysfs) == "/dev/video2")
    }

    @Test("DV-2 a camera that is plugged in elsewhere is found, unless several cameras match")
    func elsewhere() throws {
        try plugIn("1-1", [0, 1], serial: "A")
        let camera = try #require(identity(0))
        try unplug("1-1")
        try plugIn("1-2", [0, 1], serial: "B")
        #expect(camera.path(sysfs: sysfs) == nil)
        try plugIn("1-3", [2, 3], serial: "A")
        #expect(camera.path(sysfs: sysfs) == "/dev/video2")
        try unplug("1-2")
        try unplug("1-3")
        try plugIn("1-1", [0, 1])
        let unnumbered = try #require(identity(0))
        try unplug("1-1")
        try plugIn("1-2", [0, 1])
        try plugIn("1-3", [2, 3])
        #expect(unnumbered.path(sysfs: sysfs) == nil)
        try unplug("1-2")
        #expect(unnumbered.path(sysfs: sysfs) == "/dev/video2")
    }

    @Test("DV-2 a second camera of the same make isn't taken for the one that was unplugged")
    func twins() throws {
        try plugIn("1-1", [0, 1])
        try plugIn("1-2", [2, 3])
        let camera = try #require(identity(0))
        let others = CameraIdentity.all(sysfs: sysfs).subtracting([camera])
        try unplug("1-1")
        #expect(camera.path(besides: others, sysfs: sysfs) == nil)
        try plugIn("1-3", [0, 1])
        #expect(camera.path(besides: others, sysfs: sysfs) == "/dev/video0")
    }

    @Test("DV-2 a different model at a camera's port isn't taken for the camera")
    func otherProduct() throws {
        try plugIn("1-1", [0, 1])
        let camera = try #require(identity(0))
        try unplug("1-1")
        try plugIn("1-1", [0, 1], product: "0826")
        #expect(camera.path(sysfs: sysfs) == nil)
    }

    @Test("DV-2 a virtual device that isn't plugged in has no identity")
    func virtual() throws {
        #expect(identity(7) == nil)
        try make("devices/virtual/video4linux/video7")
        try write("0", to: "devices/virtual/video4linux/video7/index")
        try FileManager.default.createSymbolicLink(
            atPath: "\(sysfs)/class/video4linux/video7",
            withDestinationPath: "../../devices/virtual/video4linux/video7")
        #expect(identity(7) == nil)
    }
}
