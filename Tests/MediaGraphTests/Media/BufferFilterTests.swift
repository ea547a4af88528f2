import GStreamer
import TestSupport
import Testing

/// Tests elements that run as functions on buffers, without a pipeline.
@Suite struct BufferFilterTests {
    init() { GStreamerRuntime.initialize() }

    private static func caps(_ format: String, _ width: Int, _ height: Int) throws -> Caps {
        try #require(Caps("video/x-raw,format=\(format),width=\(width),height=\(height),framerate=30/1"))
    }

    /// Returns the rows of a frame with 4 bytes a pixel, as each pixel's first byte.
    private static func rows(_ buffer: borrowing Buffer, _ caps: Caps?) throws -> [[UInt8]] {
        let info = try #require(caps.flatMap { VideoInfo($0) })
        let bytes = buffer.bytes
        return (0..<info.height).map { y in (0..<info.width).map { x in bytes[(y * info.width + x) * 4] } }
    }

    /// Returns a frame of 3×2 pixels with their numbers.
    private static func numbered() -> Buffer { Buffer((1...6).flatMap { [UInt8($0), 0, 0, 255] }) }

    /// Applies the filter to a numbered frame. Returns the error, or `nil` if it succeeds.
    private static func error(of filter: BufferFilter, caps: Caps) -> BufferFilterError? {
        do throws(BufferFilterError) {
            _ = try filter.apply(numbered(), caps: caps).address
            return nil
        } catch { return error }
    }

    @Test("RP-10 a direction that changes between two frames applies to the second one and its caps")
    func directionChanges() throws {
        let filter = try BufferFilter("videoflip")
        let caps = try Self.caps("RGBA", 3, 2)
        #expect(filter.outputCaps == nil)
        let turns: [(String, [[UInt8]])] = [
            ("90r", [[4, 1], [5, 2], [6, 3]]),
            ("identity", [[1, 2, 3], [4, 5, 6]]),
            ("180", [[6, 5, 4], [3, 2, 1]]),
            ("90l", [[3, 6], [2, 5], [1, 4]]),
            ("horiz", [[3, 2, 1], [6, 5, 4]]),
            ("ul-lr", [[1, 4], [2, 5], [3, 6]]),
            ("ur-ll", [[6, 3], [5, 2], [4, 1]]),
            ("vert", [[4, 5, 6], [1, 2, 3]]),
            ("90r", [[4, 1], [5, 2], [6, 3]]),
        ]
        for (direction, expected) in turns {
            try filter.set("video-direction", to: direction)
            for _ in 0..<2 {
                let out = try filter.apply(Self.numbered(), caps: caps)
                #expect(try Self.rows(out, filter.outputCaps) == expected, "\(direction)")
            }
        }
    }

    @Test("RP-10 timestamps, capture time and metas stay with their frame")
    func metadata() throws {
        let filter = try BufferFilter("videoflip")
        try filter.set("video-direction", to: "180")
        let caps = try Self.caps("RGBA", 3, 2)
        let meta = IntegerMeta(name: "BufferFilterTestMeta")
        for number: UInt64 in 1...5 {
            let buffer = Self.numbered()
            buffer.access.presentationTimestamp = .milliseconds(number * 1_000_000)
            buffer.access.duration = .milliseconds(33)
            buffer.access.setCaptureTime(unixNanoseconds: 1_700_000_000_000_000_000 + number)
            meta.set(Int32(number) * 90, on: buffer.access)
            let out = try filter.apply(buffer, caps: caps)
            #expect(out.access.presentationTimestamp == .milliseconds(number * 1_000_000))
            #expect(out.access.duration == .milliseconds(33))
            #expect(out.access.captureUnixNanoseconds == 1_700_000_000_000_000_000 + number)
            #expect(meta.value(of: out.access) == Int32(number) * 90)
        }
    }

    @Test("RP-10 an in-place element gets the buffer itself and returns it")
    func untouched() throws {
        let filter = try BufferFilter("identity")
        let buffer = Self.numbered()
        let address = buffer.address
        #expect(try filter.apply(buffer, caps: try Self.caps("RGBA", 3, 2)).address == address)
    }

    @Test("RP-10 changed caps are followed, and unchanged caps stay the same object")
    func capsChange() throws {
        let filter = try BufferFilter("videoflip")
        try filter.set("video-direction", to: "90r")
        let (wide, high) = (try Self.caps("RGBA", 3, 2), try Self.caps("I420", 8, 4))
        _ = try filter.apply(Self.numbered(), caps: wide)
        let first = try #require(filter.outputCaps)
        _ = try filter.apply(Self.numbered(), caps: wide)
        #expect(filter.outputCaps === first)
        #expect(VideoInfo(first).map { [$0.width, $0.height] } == [2, 3])
        _ = try filter.apply(Buffer(patternedFrame(width: 8, height: 4)), caps: high)
        let second = try #require(filter.outputCaps.flatMap { VideoInfo($0) })
        #expect(second.format == .i420 && second.width == 4 && second.height == 8)
    }

    @Test(
        "RP-10 turning a frame there and back restores it, and videoflip refuses Y42B and A420",
        arguments: VideoFormat.allCases)
    func formats(format: VideoFormat) throws {
        let caps = try Self.caps(format.gstreamerName, 64, 32)
        let (there, back) = (try BufferFilter("videoflip"), try BufferFilter("videoflip"))
        let bytes = patternedFrame(format, width: 64, height: 32)
        for (turn, undone) in [("90r", "90l"), ("180", "180"), ("90l", "90r"), ("horiz", "horiz")] {
            try there.set("video-direction", to: turn)
            try back.set("video-direction", to: undone)
            do throws(BufferFilterError) {
                let turned = try there.apply(Buffer(bytes), caps: caps)
                #expect(turned.bytes != bytes, "\(turn)")
                let again = try back.apply(turned, caps: there.outputCaps!)
                #expect(again.bytes == bytes, "\(turn)")
            } catch {
                guard case .refused(_, _, let accepted) = error else { throw error }
                #expect([.i422, .a420].contains(format), "\(error)")
                #expect(!accepted.contains(format.gstreamerName), "\(error)")
            }
        }
    }

    @Test("RP-10 caps that the element refuses are a typed error, and the next frame is processed")
    func refused() throws {
        let filter = try BufferFilter("videoflip")
        try filter.set("video-direction", to: "180")
        let wrong = try #require(Caps("audio/x-raw,format=S16LE,layout=interleaved,rate=48000,channels=1"))
        for _ in 0..<2 {
            guard case .refused("videoflip", let caps, let accepted)? = Self.error(of: filter, caps: wrong) else {
                Issue.record("audio was taken")
                return
            }
            #expect(caps.contains("audio/x-raw") && accepted.contains("video/x-raw"))
            let out = try filter.apply(Self.numbered(), caps: try Self.caps("RGBA", 3, 2))
            #expect(try Self.rows(out, filter.outputCaps) == [[6, 5, 4], [3, 2, 1]])
        }
    }

    @Test("RP-10 a frame too small for its caps is a typed error, and the next frame is processed")
    func tooSmall() throws {
        let filter = try BufferFilter("videoflip")
        try filter.set("video-direction", to: "180")
        let caps = try Self.caps("RGBA", 3, 2)
        do throws(BufferFilterError) {
            _ = try filter.apply(Buffer([1, 2, 3]), caps: caps).address
            Issue.record("a frame of 3 bytes was accepted")
        } catch {
            guard case .failed("videoflip", _, let reason) = error else { throw error }
            #expect(reason.contains("invalid video buffer"))
        }
        let out = try filter.apply(Self.numbered(), caps: caps)
        #expect(try Self.rows(out, filter.outputCaps) == [[6, 5, 4], [3, 2, 1]])
    }

    @Test("RP-10 elements that don't give exactly one buffer for each buffer are refused")
    func unsuitable() throws {
        for (factory, expected) in [
            ("nosuchelement", BufferFilterError.noSuchElement("nosuchelement")), ("fakesink", .wrongPads("fakesink")),
            ("tee", .wrongPads("tee")),
        ] { #expect(throws: expected) { try BufferFilter(factory) } }
        // videorate keeps the buffer until it knows the next one's time.
        let waiting = try BufferFilter("videorate")
        #expect(Self.error(of: waiting, caps: try Self.caps("RGBA", 3, 2)) == .notOneBuffer("videorate", count: 0))
    }

    @Test("RP-10 an element's own error is the reason of the thrown error")
    func elementFails() throws {
        let filter = try BufferFilter("identity")
        try filter.set("error-after", to: "2")
        let caps = try Self.caps("RGBA", 3, 2)
        _ = try filter.apply(Self.numbered(), caps: caps)
        guard case .failed("identity", .error, let reason)? = Self.error(of: filter, caps: caps) else {
            Issue.record("no error")
            return
        }
        #expect(reason.contains("Failed after iterations as requested."))
    }

    @Test("RP-10 an unknown property and an invalid value are typed errors")
    func properties() throws {
        let filter = try BufferFilter("videoflip")
        #expect(throws: PropertyError.noSuchProperty(element: "videoflip", property: "turn")) {
            try filter.set("turn", to: "90r")
        }
        #expect(throws: PropertyError.self) { try filter.set("video-direction", to: "sideways") }
    }

    @Test("AL-4 an element with its own thread is refused, because its output could belong to any frame")
    func ownThread() throws {
        let filter = try BufferFilter(parsing: "queue")
        let caps = try Self.caps("RGBA", 3, 2)
        for _ in 0..<50 { #expect(Self.error(of: filter, caps: caps) == .notOneBuffer("queue", count: 0)) }
    }

    @Test("RP-10 the error for a refused format lists what the element accepts, whatever its sink pad is called")
    func refusalWithOtherPad() throws {
        let filter = try BufferFilter("textoverlay", sinkPad: "video_sink")
        let caps = try #require(Caps("audio/x-raw,format=S16LE,rate=48000,channels=1,layout=interleaved"))
        guard case .refused("textoverlay", _, let accepted) = Self.error(of: filter, caps: caps) else {
            Issue.record("the element accepts audio")
            return
        }
        #expect(accepted.contains("video/x-raw"))
    }
}
