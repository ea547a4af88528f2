import GStreamer
import MediaGraph
import MediaGraphTesting
import TestSupport
import Testing

/// Tests planes that are edited together.
@Suite struct SeveralPlanesTests {
    private struct Editor: VideoProcessor {
        let body: @Sendable (inout VideoFrame) throws -> Void
        func process(_ frame: inout VideoFrame) throws -> Verdict {
            try body(&frame)
            return .pass
        }
    }

    private func edited(
        _ format: VideoFormat, _ body: @escaping @Sendable (inout VideoFrame) throws -> Void
    ) throws -> [[UInt8]] {
        var harness = ProcessorHarness(Editor(body: body))
        let frame = TestFrame(FrameFormat(format, range: .limited), width: 5, height: 3, filledWith: 9)
        let result = try harness.process(frame).frame
        return format.planes.map { result.plane($0)! }
    }

    @Test(
        "PP-1 luma and chroma planes can be edited together, pixel by pixel",
        arguments: [true, false])
    func together(isPlanar: Bool) throws {
        let planes = try edited(isPlanar ? .i420 : .nv12) { frame in
            let edit = { (luma: inout MutableVideoPlane, chroma: inout MutableVideoPlane, step: Int) in
                let width = chroma.width
                for y in 0..<chroma.height {
                    var lumaRow = luma.row(2 * y)
                    var chromaRow = chroma.row(y)
                    for x in 0..<width {
                        lumaRow[2 * x] = UInt8(10 * y + x)
                        chromaRow[step * x] = lumaRow[2 * x] + 100
                    }
                }
            }
            if isPlanar {
                try frame.withMutablePlanes(.y, .u, .v) { luma, u, v in
                    edit(&luma, &u, 1)
                    v.fill(rows: 0..<v.height, with: 7)
                }
            } else {
                try frame.withMutablePlanes(.y, .uv) { luma, chroma in edit(&luma, &chroma, 2) }
            }
        }
        #expect(planes[0] == [0, 9, 1, 9, 2, 9, 9, 9, 9, 9, 10, 9, 11, 9, 12])
        if isPlanar {
            #expect(planes[1] == [100, 101, 102, 110, 111, 112] && planes[2] == [7, 7, 7, 7, 7, 7])
        } else {
            #expect(planes[1] == [100, 9, 101, 9, 102, 9, 110, 9, 111, 9, 112, 9])
        }
    }

    @Test("PP-1 a repeated or missing plane is a typed error, and the closure isn't called")
    func refused() throws {
        let errors = Log<MediaGraphError>()
        let calls = Log<Int>()
        _ = try edited(.i420) { frame in
            for planes in [(VideoFormat.Plane.y, VideoFormat.Plane.y), (.y, .uv), (.alpha, .y)] {
                do { try frame.withMutablePlanes(planes.0, planes.1) { _, _ in calls.add(2) } } catch let error
                    as MediaGraphError
                {
                    errors.add(error)
                }
            }
            for planes in [(VideoFormat.Plane.u, VideoFormat.Plane.u), (.v, .u), (.u, .v), (.u, .uv)] {
                do { try frame.withMutablePlanes(planes.0, planes.1, .v) { _, _, _ in calls.add(3) } } catch let error
                    as MediaGraphError
                {
                    errors.add(error)
                }
            }
        }
        #expect(calls.all.isEmpty)
        #expect(errors.all.map(\.code) == [MediaGraphError.Code](repeating: .invalidParameter, count: 7))
        #expect(errors.all.first?.detail.expected == "each plane once")
    }
}
