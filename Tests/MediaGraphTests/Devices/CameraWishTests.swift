import GStreamer
import Testing

@testable import MediaGraphCore
@testable import MediaGraphDevices

/// Which of a camera's formats is taken.
@Suite struct CameraWishTests {
    /// As `v4l2src` lists a typical UVC camera.
    private static let webcam = """
        video/x-raw, format=YUY2, width=640, height=480, framerate={ 30/1, 15/1 };
        video/x-raw, format=YUY2, width=1280, height=720, framerate=10/1;
        video/x-raw, format=YUY2, width=1920, height=1080, framerate=5/1;
        image/jpeg, width=640, height=480, framerate=30/1;
        image/jpeg, width=1280, height=720, framerate=30/1;
        image/jpeg, width=1920, height=1080, framerate=30/1
        """
    /// As `v4l2src` lists vivid's webcam, best first as its driver does.
    private static let vivid = """
        video/x-raw, format={ YUY2, NV12, RGB }, width=3840, height=2160, framerate={ 1/1, 2/1 };
        video/x-raw, format={ YUY2, NV12, RGB }, width=1920, height=1080, framerate={ 5/1, 10/1, 15/1 };
        video/x-raw, format={ YUY2, NV12, RGB }, width=1280, height=720, framerate={ 10/1, 15/1, 25/1, 30/1 };
        video/x-raw, format={ YUY2, NV12, RGB }, width=640, height=360, framerate={ 15/1, 30/1, 60/1 };
        video/x-raw, format={ YUY2, NV12, RGB }, width=320, height=180, framerate={ 15/1, 30/1, 60/1 }
        """
    /// One that has no JPEG.
    private static let plain = """
        video/x-raw, format=YUY2, width=1280, height=720, framerate=10/1;
        video/x-raw, format=YUY2, width=640, height=480, framerate=30000/1001
        """
    /// A loopback device before anybody writes, or a screen: ranges.
    private static let ranges =
        "video/x-raw, format=I420, width=[2, 8192], height=[2, 8192], framerate=[1/1, 120/1]"

    /// One that has 16:9 only where it is larger.
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
        // Raw only where it is fast enough.
        Row(camera: webcam, wanted: "width=640, height=480, framerate=30/1", picked: "YUY2 640×480@30"),
        Row(camera: webcam, wanted: "width=1280, height=720, framerate=30/1", picked: "MJPEG 1280×720@30"),
        Row(camera: webcam, wanted: "width=1280, height=720, framerate=10/1", picked: "YUY2 1280×720@10"),
        Row(camera: webcam, wanted: "width=1920, height=1080, framerate=30/1", picked: "MJPEG 1920×1080@30"),
        // Unpinned.
        Row(camera: webcam, wanted: nil, picked: "MJPEG 1280×720@30"),
        Row(camera: vivid, wanted: nil, picked: "NV12 1280×720@30"),
        Row(camera: plain, wanted: nil, picked: "YUY2 640×480@30000/1001"),
        Row(camera: ranges, wanted: nil, picked: "I420 1280×720@30"),
        // The nearest that isn't smaller.
        Row(camera: webcam, wanted: "width=800, height=600, framerate=30/1", picked: "MJPEG 1280×720@30"),
        Row(camera: vivid, wanted: "width=960, height=540, framerate=30/1", picked: "NV12 1280×720@30"),
        Row(camera: vivid, wanted: "width=160, height=90, framerate=15/1", picked: "NV12 320×180@15"),
        // A picture without borders.
        Row(camera: shapes, wanted: "width=1280, height=720, framerate=30/1", picked: "MJPEG 1920×1080@30"),
        Row(camera: shapes, wanted: "width=640, height=480, framerate=30/1", picked: "MJPEG 1280×960@30"),
        // Never a slide show because it is large.
        Row(camera: vivid, wanted: "width=3840, height=2160, framerate=30/1", picked: "NV12 1280×720@30"),
        Row(camera: vivid, wanted: "width=1920, height=1080, framerate=30/1", picked: "NV12 1920×1080@15"),
        // Pixels that need no conversion, at the same size.
        Row(camera: vivid, wanted: "format=NV12, width=1280, height=720, framerate=30/1", picked: "NV12 1280×720@30"),
        Row(camera: webcam, wanted: "format=I420, width=640, height=480", picked: "YUY2 640×480@30"),
        // Of lists the size and the rate that are taken where nothing is asked for, or the nearest.
        Row(
            camera: vivid, wanted: "width={320,1280}, height={180,720}, framerate={15/1,30/1}",
            picked: "NV12 1280×720@30"),
        Row(camera: vivid, wanted: "width=640, height={180,360}, framerate={15/1,5/1}", picked: "NV12 640×360@15"),
        // A height alone, a rate alone.
        Row(camera: vivid, wanted: "height=360", picked: "NV12 640×360@30"),
        Row(camera: vivid, wanted: "framerate=60/1", picked: "NV12 1280×720@30"),
        Row(camera: ranges, wanted: "width=404, height=720, framerate=25/1", picked: "I420 404×720@25"),
    ]

    @Test("DV-1 of a camera's formats the one is taken that gives what is wanted at least cost", arguments: rows)
    func picks(row: Row) throws {
        let modes = CameraMode.all(in: try #require(Caps(row.camera)))
        let wish = CameraWish(try row.wanted.map { try #require(Caps("video/x-raw, \($0)")) })
        #expect(wish.pick(from: modes)?.description == row.picked)
    }

    @Test("DV-1 JPEG that downstream takes as it comes is taken for itself, and nothing where nothing fits")
    func codings() throws {
        let modes = CameraMode.all(in: try #require(Caps(Self.webcam)))
        let jpeg = CameraWish(Caps("image/jpeg, width=640, height=480"))
        #expect(jpeg.pick(from: modes)?.description == "MJPEG 640×480@30")
        #expect(CameraWish(Caps("video/x-h264")).pick(from: modes) == nil)
    }

    @Test("DV-1 memory that the CPU can't read is no choice")
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
        Plan(given: jpeg, wanted: nil, elements: "\(pickedJPEG) ! jpegdec"),
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

    @Test("DV-1 only the elements that a conversion needs stand behind a device", arguments: plans)
    func conversions(plan: Plan) throws {
        let wanted = try plan.wanted.map { try #require(Caps($0)) }
        let made = try ConversionPlan("a device", from: try #require(Caps(plan.given)), to: wanted, isFixed: false)
        #expect(made.text == plan.elements)
    }

    @Test("DV-1 a device that gives nothing that downstream takes is refused with both sides named")
    func refused() throws {
        let error = try #require(throws: MediaGraphError.self) {
            try ConversionPlan("Webcam", from: Caps(Self.webcam)!, to: Caps("video/x-h264"), isFixed: false)
        }
        #expect(error.code == .unsupported)
        #expect(error.detail.expected.contains("x-h264") && error.detail.actual.contains("image/jpeg"))
    }
}
