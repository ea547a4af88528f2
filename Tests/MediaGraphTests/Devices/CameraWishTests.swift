import GStreamer
import Testing

@testable import MediaGraphCore
@testable import MediaGraphDevices

/// Tests which of a camera's formats is chosen.
@Suite struct CameraWishTests {
    /// A typical UVC camera, as `v4l2src` lists it.
    private static let webcam = """
        video/x-raw, format=YUY2, width=640, height=480, framerate={ 30/1, 15/1 };
        video/x-raw, format=YUY2, width=1280, height=720, framerate=10/1;
        video/x-raw, format=YUY2, width=1920, height=1080, framerate=5/1;
        image/jpeg, width=640, height=480, framerate=30/1;
        image/jpeg, width=1280, height=720, framerate=30/1;
        image/jpeg, width=1920, height=1080, framerate=30/1
        """
    /// vivid's webcam, as `v4l2src` lists it, best format first as in its driver.
    private static let vivid = """
        video/x-raw, format={ YUY2, NV12, RGB }, width=3840, height=2160, framerate={ 1/1, 2/1 };
        video/x-raw, format={ YUY2, NV12, RGB }, width=1920, height=1080, framerate={ 5/1, 10/1, 15/1 };
        video/x-raw, format={ YUY2, NV12, RGB }, width=1280, height=720, framerate={ 10/1, 15/1, 25/1, 30/1 };
        video/x-raw, format={ YUY2, NV12, RGB }, width=640, height=360, framerate={ 15/1, 30/1, 60/1 };
        video/x-raw, format={ YUY2, NV12, RGB }, width=320, height=180, framerate={ 15/1, 30/1, 60/1 }
        """
    /// A camera without JPEG.
    private static let plain = """
        video/x-raw, format=YUY2, width=1280, height=720, framerate=10/1;
        video/x-raw, format=YUY2, width=640, height=480, framerate=30000/1001
        """
    /// The ranges of a screen, or of a loopback device that nobody writes to yet.
    private static let ranges =
        "video/x-raw, format=I420, width=[2, 8192], height=[2, 8192], framerate=[1/1, 120/1]"

    /// A camera with 16:9 only at its larger size.
    private static let shapes = """
        image/jpeg, width=1280, height=960, framerate=30/1;
        image/jpeg, width=1920, height=1080, framerate=30/1
        """

    struct Row: Sendable, CustomTestStringConvertible {
        var camera: String
        var wanted: String?
        var picked: String
        var testDescription: String { "\(wanted ?? "anything") of \(camera.prefix(30))…: \(picked)" }
    }

    static let rows = [
        // Raw formats are chosen only if they are fast enough.
        Row(camera: webcam, wanted: "width=640, height=480, framerate=30/1", picked: "YUY2 640×480@30"),
        Row(camera: webcam, wanted: "width=1280, height=720, framerate=30/1", picked: "MJPEG 1280×720@30"),
        Row(camera: webcam, wanted: "width=1280, height=720, framerate=10/1", picked: "YUY2 1280×720@10"),
        Row(camera: webcam, wanted: "width=1920, height=1080, framerate=30/1", picked: "MJPEG 1920×1080@30"),
        // Downstream doesn't restrict the format.
        Row(camera: webcam, wanted: nil, picked: "MJPEG 1280×720@30"),
        Row(camera: vivid, wanted: nil, picked: "NV12 1280×720@30"),
        Row(camera: plain, wanted: nil, picked: "YUY2 640×480@30000/1001"),
        Row(camera: ranges, wanted: nil, picked: "I420 1280×720@30"),
        // The nearest size that isn't smaller.
        Row(camera: webcam, wanted: "width=800, height=600, framerate=30/1", picked: "MJPEG 1280×720@30"),
        Row(camera: vivid, wanted: "width=960, height=540, framerate=30/1", picked: "NV12 1280×720@30"),
        Row(camera: vivid, wanted: "width=160, height=90, framerate=15/1", picked: "NV12 320×180@15"),
        // A size that needs no borders.
        Row(camera: shapes, wanted: "width=1280, height=720, framerate=30/1", picked: "MJPEG 1920×1080@30"),
        Row(camera: shapes, wanted: "width=640, height=480, framerate=30/1", picked: "MJPEG 1280×960@30"),
        // A large size doesn't justify a low frame rate.
        Row(camera: vivid, wanted: "width=3840, height=2160, framerate=30/1", picked: "NV12 1280×720@30"),
        Row(camera: vivid, wanted: "width=1920, height=1080, framerate=30/1", picked: "NV12 1920×1080@15"),
        // At the same size, pixels that need no conversion.
        Row(camera: vivid, wanted: "format=NV12, width=1280, height=720, framerate=30/1", picked: "NV12 1280×720@30"),
        Row(camera: webcam, wanted: "format=I420, width=640, height=480", picked: "YUY2 640×480@30"),
        // From lists, the size and rate that are the defaults, or the nearest to them.
        Row(
            camera: vivid, wanted: "width={320,1280}, height={180,720}, framerate={15/1,30/1}",
            picked: "NV12 1280×720@30"),
        Row(camera: vivid, wanted: "width=640, height={180,360}, framerate={15/1,5/1}", picked: "NV12 640×360@15"),
        // Only a height, or only a rate.
        Row(camera: vivid, wanted: "height=360", picked: "NV12 640×360@30"),
        Row(camera: vivid, wanted: "framerate=60/1", picked: "NV12 1280×720@30"),
        Row(camera: ranges, wanted: "width=404, height=720, framerate=25/1", picked: "I420 404×720@25"),
    ]

    @Test("DV-1 the camera's format that gives the wanted one at the least cost is chosen", arguments: rows)
    func picks(row: Row) throws {
        let modes = CameraMode.all(in: try #require(Caps(row.camera)))
        let wish = CameraWish(try row.wanted.map { try #require(Caps("video/x-raw, \($0)")) })
        #expect(wish.pick(from: modes)?.description == row.picked)
    }

    @Test("DV-1 JPEG is chosen if downstream takes it undecoded, and nothing if no format fits")
    func codings() throws {
        let modes = CameraMode.all(in: try #require(Caps(Self.webcam)))
        let jpeg = CameraWish(Caps("image/jpeg, width=640, height=480"))
        #expect(jpeg.pick(from: modes)?.description == "MJPEG 640×480@30")
        #expect(CameraWish(Caps("video/x-h264")).pick(from: modes) == nil)
    }

    @Test("DV-1 formats in memory that the CPU can't read aren't chosen")
    func memory() throws {
        let caps = try #require(Caps("video/x-raw(memory:DMABuf), format=NV12, width=640, height=480, framerate=30/1"))
        #expect(CameraMode.all(in: caps).isEmpty)
    }

    struct Plan: Sendable, CustomTestStringConvertible {
        var given: String
        var wanted: String?
        var elements: String
        var testDescription: String { "\(given) to \(wanted ?? "anything")" }
    }

    private static let raw = "video/x-raw, format=YUY2, width=640, height=480, framerate=30/1"
    private static let size = "width=(int)640, height=(int)480, framerate=(fraction)30/1"
    private static let picked = "capsfilter caps=\"video/x-raw, format=(string)YUY2, \(size)\""
    private static let jpeg = "image/jpeg, width=640, height=480, framerate=30/1"
    private static let pickedJPEG = "capsfilter caps=\"image/jpeg, \(size)\""

    static let plans = [
        Plan(given: raw, wanted: nil, elements: picked),
        Plan(given: raw, wanted: raw, elements: picked),
        Plan(given: raw, wanted: "video/x-raw, format=I420", elements: "\(picked) ! videoconvertscale"),
        Plan(given: raw, wanted: "video/x-raw, width=320, height=240", elements: "\(picked) ! videoconvertscale"),
        Plan(
            given: raw, wanted: "video/x-raw, framerate=15/1", elements: "\(picked) ! videorate skip-to-first=true"),
        // A field that only the open device's caps contain.
        Plan(
            given: "\(raw), colorimetry=bt601", wanted: "video/x-raw, colorimetry=bt709",
            elements: "\(picked) ! videoconvertscale"),
        Plan(
            given: "\(raw), colorimetry=bt601", wanted: "video/x-raw, colorimetry=bt709, framerate=15/1",
            elements: "\(picked) ! videorate skip-to-first=true ! videoconvertscale"),
        // The size fits the first structure, and the rate the second.
        Plan(
            given: raw,
            wanted: """
                video/x-raw, width=640, height=480, framerate=15/1; video/x-raw, width=320, height=240, framerate=30/1
                """,
            elements: "\(picked) ! videorate skip-to-first=true"),
        Plan(given: jpeg, wanted: nil, elements: "\(pickedJPEG) ! jpegdec"),
        Plan(given: jpeg, wanted: "video/x-raw, colorimetry=1:4:0:0", elements: "\(pickedJPEG) ! jpegdec"),
        Plan(
            given: jpeg, wanted: "video/x-raw, colorimetry=bt709",
            elements: "\(pickedJPEG) ! jpegdec ! videoconvertscale"),
        Plan(given: jpeg, wanted: "image/jpeg", elements: pickedJPEG),
        Plan(
            given: jpeg, wanted: "video/x-raw, format=NV12", elements: "\(pickedJPEG) ! jpegdec ! videoconvertscale"),
        Plan(given: "audio/x-raw, rate=48000, channels=2, format=S16LE", wanted: nil, elements: ""),
        Plan(
            given: "audio/x-raw, rate=48000, channels=2, format=S16LE", wanted: "audio/x-raw, rate=48000", elements: ""),
        Plan(
            given: "audio/x-raw, rate=48000, channels=2, format=S16LE", wanted: "audio/x-raw, rate=16000",
            elements: "audioconvert ! audioresample"),
    ]

    @Test("DV-1 only the elements that a conversion needs follow a device", arguments: plans)
    func conversions(plan: Plan) throws {
        let wanted = try plan.wanted.map { try #require(Caps($0)) }
        let made = try ConversionPlan("a device", from: try #require(Caps(plan.given)), to: wanted, isFixed: false)
        #expect(made.text == plan.elements)
    }

    @Test("DV-1 a device without a format that downstream takes is an error with both sides")
    func refused() throws {
        let error = try #require(throws: MediaGraphError.self) {
            try ConversionPlan("Webcam", from: Caps(Self.webcam)!, to: Caps("video/x-h264"), isFixed: false)
        }
        #expect(error.code == .unsupported)
        #expect(error.detail.actual.contains("x-h264") && error.detail.actual.contains("image/jpeg"))
    }
}
