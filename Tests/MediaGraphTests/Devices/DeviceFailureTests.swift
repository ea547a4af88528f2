import GStreamer
import TestSupport
import Testing

@testable import MediaGraph
@testable import MediaGraphCore
@testable import MediaGraphDevices

/// Tests the errors of stock elements whose device can't be opened.
@Suite struct DeviceFailureTests {
    init() throws { try Nodes.register() }

    @Test(
        "DV-2 a missing device is an error of its own, with the device's name and a remedy",
        arguments: [
            ("v4l2src device=/dev/video77 ! fakesink", "/dev/video77"),
            ("alsasrc device=hw:77 ! fakesink", "hw:77"),
            ("videotestsrc ! v4l2sink device=/dev/video77", "/dev/video77"),
        ])
    func missing(_ text: String, _ device: String) async throws {
        let graph = try Graph(text)
        let error = await #expect(throws: GraphError.self) { try await graph.run() }
        guard case .failed(let failure)? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(failure.cause?.code == .noDevice && failure.cause?.detail.subject == device)
        #expect("\(failure)".contains("`mediagraph devices` lists the available devices"), "\(failure)")
    }

    @Test(
        "DV-2 a busy, a gone, a forbidden and a missing device are different errors",
        arguments: [
            // Values of GstResourceError.
            (4, false, MediaGraphError.Code.deviceBusy), (9, true, .deviceGone), (15, false, .notPermitted),
            (3, false, .noDevice), (5, false, .noDevice), (5, true, .deviceGone),
        ])
    func kinds(_ code: Int, _ wasRunning: Bool, _ expected: MediaGraphError.Code) {
        let error = DeviceFailure.error(
            GLibError(domain: "gst-resource-error-quark", code: code, message: "m"), device: "Cam",
            wasRunning: wasRunning)
        #expect(
            error?.code == expected && error?.detail.subject == "Cam" && error?.detail.actual.contains(" (m)") == true)
    }

    /// Only the error's message is in the language of the program's locale.
    @Test("DV-2 a device that is no camera, or that the sound server lacks, is recognized in any locale")
    func translated() throws {
        func expectation(_ code: Int, _ message: String, debug: String, isSink: Bool = false) -> String? {
            DeviceFailure.error(
                GLibError(domain: "gst-resource-error-quark", code: code, message: message), debug: debug,
                device: "Cam", isSink: isSink, wasRunning: false)?.detail.actual
        }
        let noCamera = "Gerät »/dev/video0« ist kein Aufnahmegerät."
        let capabilities = "v4l2_calls.c(637): gst_v4l2_open (): \nCapabilities: 0x85200002"
        let read = expectation(3, noCamera, debug: capabilities)
        #expect(try #require(read).contains("becomes a camera when a program writes to it"))
        let written = expectation(3, "…", debug: capabilities, isSink: true)
        #expect(try #require(written).contains("isn't a video output"))
        let noEntity = "Failed to connect stream: Entität existiert nicht"
        #expect(try #require(expectation(1, noEntity, debug: "")).contains("isn't a device of the sound server"))
    }

    @Test(
        "DV-2 audio that the device can't deliver is an error with both sides, whatever the policy",
        arguments: ["never", "slate"])
    func conversionRefused(_ policy: String) async throws {
        let graph = try Graph(
            """
            devicesource reconnect=\(policy) source="audiotestsrc is-live=true ! capsfilter caps=audio/x-raw,channels=2" !
            audio/x-raw,channels=64 ! fakesink
            """)
        let error = await #expect(throws: GraphError.self) { try await graph.run() }
        guard case .failed(let failure)? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(failure.cause?.code == .unsupported)
        #expect(try #require(failure.cause?.detail.actual).contains("channels=(int)64; the device offers audio/x-raw"))
    }
}
