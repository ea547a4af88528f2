import GStreamer
import TestSupport
import Testing

@testable import MediaGraph

/// What a graph says of stock elements whose device can't be had.
@Suite struct DeviceFailureTests {
    init() throws { try Nodes.register() }

    @Test(
        "DV-2 a device that isn't there is an error of its own, with the device's name and what to do",
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
        #expect("\(failure)".contains("`mediagraph devices` lists them"), "\(failure)")
    }

    @Test(
        "DV-2 busy, gone, forbidden and missing are told apart",
        arguments: [
            // Of GstResourceError.
            (4, false, MediaGraphError.Code.deviceBusy), (9, true, .deviceGone), (15, false, .notPermitted),
            (3, false, .noDevice), (5, false, .noDevice), (5, true, .deviceGone),
        ])
    func kinds(_ code: Int, _ wasRunning: Bool, _ expected: MediaGraphError.Code) {
        let error = DeviceFailure.error(
            GLibError(domain: "gst-resource-error-quark", code: code, message: "m"), device: "Cam",
            wasRunning: wasRunning)
        #expect(error?.code == expected && error?.detail.subject == "Cam" && error?.detail.actual == "m")
    }
}
