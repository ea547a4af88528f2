import Ported
import Testing

/// Checks each sample's lines for five frames. A live session may drop a frame on a busy machine, so the frames that arrive
/// need not be consecutive; each says its number, or looks like all others.
@Suite(.serialized, .timeLimit(.minutes(5))) struct SampleTests {
    private func lines(_ name: String) async throws -> [String] {
        try await #require(Sample.all.first { $0.name == name }).run(5)
    }

    private func number(_ line: String) -> Int { Int(line.split(separator: " ").last!)! }

    /// Whether the numbers at the ends of the lines increase.
    private func increase(_ lines: [String]) -> Bool {
        zip(lines, lines.dropFirst()).allSatisfy { number($0) < number($1) }
    }

    @Test(
        "VS-10 each ported source runs, and its frames arrive unchanged",
        arguments: ["zoom-source-task", "zoom-source-thread"])
    func sources(name: String) async throws {
        let lines = try await lines(name)
        #expect(lines.count == 5 && increase(lines))
        // Frame `n` begins with `2n`.
        #expect(lines.allSatisfy { $0.hasPrefix("320×180, first luma ") && number($0) % 2 == 0 })
    }

    @Test(
        "VM-1 the node paces the ported microphone, which never sleeps, and loses none of its sound",
        arguments: ["zoom-virtual-mic", "zoom-virtual-mic-thread"])
    func virtualMic(name: String) async throws {
        let lines = try await lines(name)
        let first = try #require(lines.first.flatMap { Int($0.dropFirst("chunk ".count).prefix { $0 != ":" }) })
        #expect(lines == (0..<5).map { "chunk \(first + $0): 320 samples" })
    }

    @Test("VM-1 the ported call to send with the sample's own values is an error, and one with right values succeeds")
    func virtualMicExample() async throws {
        let lines = try await lines("zoom-virtual-mic-example")
        #expect(lines.count == 2 && lines[1] == "Call to send raw audio succeeded")
        #expect(lines[0].hasPrefix("Call to send raw audio produced an error: sample rate: expected one of 8000"))
    }

    @Test(
        "SH-1 the ported share starts in a session, and another user gets its growing frames",
        arguments: ["zoom-share-source", "zoom-share-source-thread"])
    func shareSource(name: String) async throws {
        let lines = try await lines(name)
        let numbers = lines.map(number)
        #expect(lines == numbers.map { "\(320 + 2 * $0)×180, first blue \($0)" })
        #expect(lines.count == 5 && numbers == numbers.sorted() && Set(numbers).count > 3)
    }

    @Test("SH-1 the ported share that sends a single frame is seen by each later reader")
    func stillShare() async throws {
        let lines = try await lines("zoom-share-source-example")
        #expect(lines == Array(repeating: "320×180, first blue 0", count: 5))
    }

    @Test(
        "SE-1 the ported session reports joining, sharing and leaving in order, and delivers all streams",
        .timeLimit(.minutes(2)))
    func session() async throws {
        let lines = try await lines("zoom-session")
        func about(_ stream: String) -> [String] {
            lines.filter { $0.hasPrefix(stream + ": ") }.map { String($0.dropFirst(stream.count + 2)) }
        }
        #expect(
            about("session") == [
                "joined", "alice joined", "alice shares", "alice has stopped sharing", "alice left", "left",
            ])
        for (stream, isSize) in [("video of alice", { $0 == 320 }), ("share of alice", { $0 >= 320 })]
            as [(String, (Int) -> Bool)]
        {
            let lines = about(stream)
            #expect(lines.first == "on" && lines.last == "off" && lines.count >= 7)
            #expect(
                lines.dropFirst().dropLast().allSatisfy {
                    $0.hasSuffix("×180") && isSize(Int($0.split(separator: "×")[0])!)
                })
        }
        for stream in ["mixed audio", "audio of alice"] {
            #expect(Set(about(stream)) == ["48000 Hz, 1 channel"] && about(stream).count >= 5)
        }
    }

    @Test("PP-1 each frame leaves with the ported pre-processor's watermark, and is otherwise unchanged")
    func preProcessor() async throws {
        let expected = Array(repeating: "320×180, watermark 255, next to it 16", count: 5)
        #expect(try await lines("zoom-pre-processor") == expected)
    }

    @Test("RP-7 in the ported heap mode a delegate's frames and a speaker's blocks outlive the session")
    func memoryMode() async throws {
        let lines = try await lines("zoom-memory-mode")
        let video = lines.filter { $0.hasPrefix("video: first luma ") }
        #expect(video.count == 5 && increase(video) && video.allSatisfy { number($0) % 2 == 0 })
        #expect(lines.filter { $0.hasPrefix("share: 3") && $0.hasSuffix("×180") }.count == 5)
        #expect(lines.last == "audio: true")
    }

    @Test("RP-8 the ported delegate keeps each frame unchanged after the call, between the statuses on and off")
    func rawDataPipe() async throws {
        let lines = try await lines("zoom-raw-data-pipe")
        let turns = ["upright", "90 degrees", "180 degrees", "270 degrees"]
        // Each frame is turned 90° further than the last. The frame's number says which one it is.
        let frames = (0..<100).map { number in
            "frame: 320×180 I420, \(turns[number % 4]), time known, y \(2 * number), u 128, v 128"
        }
        #expect(lines.first == "on" && lines.contains("off"))
        let arrived = lines.filter { $0.hasPrefix("frame") }
        #expect(arrived.count >= 5 && Set(arrived).count == arrived.count && arrived.allSatisfy(frames.contains))
    }

    @Test("RP-12 the ported delegate gets each pixel buffer in its own memory, with its rotation")
    func pixelBuffer() async throws {
        let lines = try await lines("zoom-pixel-buffer")
        #expect(lines.count >= 5 && increase(lines))
        #expect(
            lines.allSatisfy { line in
                let rotation = number(line) / 2 % 4 == 1 ? "90 degrees" : "not 90 degrees"
                return line == "320×180 NV12 in SystemMemory, \(rotation), luma \(number(line))"
            })
    }

    @Test("AL-1 the ported calls query the alpha channel and turn it on, and the next frame has the mask")
    func alphaChannel() async throws {
        let lines = try await lines("zoom-alpha-channel")
        #expect(lines.filter { $0.contains(": true") }.count == 3)
        #expect(lines.contains("the device supports it: true") && lines.contains("is enabled: true"))
        // The callback comes between the last frame without alpha and the first with it.
        let callback = try #require(lines.firstIndex(of: "alpha channel of alice: true"))
        #expect(!lines[..<callback].contains { $0.hasPrefix("alpha frame") })
        let frames = lines[callback...].dropFirst()
        #expect(frames.count >= 5 && Set(frames) == ["alpha frame: alphaBufferLen 57600, first alpha 0"])
    }

    @Test("SP-1 the ported speaker gets the mix, each user's sound, and the share, which isn't in the mix")
    func virtualSpeaker() async throws {
        let lines = try await lines("zoom-virtual-speaker")
        for (stream, greatest) in [("mixed", 8191), ("alice", 8191), ("shared", 16383)] {
            let about = lines.filter { $0.hasPrefix("\(stream): ") }
            #expect(about.count >= 5 && about.allSatisfy { $0.contains(", sampleRate 32000, channelNum 1, ") })
            // The mix is silent until the user's sound arrives.
            #expect(Set(about.map(number)).subtracting([0]) == [greatest])
        }
    }

    @Test("CR-1 the ported handler and the renderer get each frame of the preview and of the played stream")
    func customRender() async throws {
        let lines = try await lines("zego-custom-render")
        #expect(lines.count == 20)
        for stream in ["captured", "remote alice"] {
            let about = lines.filter { $0.hasPrefix("\(stream): ") }
            let expected =
                "\(stream): pixel buffer video frame callback. format: BGRA, width: 320, height: 180, isNeedFlip: "
            #expect(about.count == 5 && about.allSatisfy { $0.hasPrefix(expected) })
            // Only the preview is mirrored.
            #expect(about.allSatisfy { $0.hasSuffix("none") } == (stream == "remote alice"))
        }
        for view in ["preview_view", "play_view"] {
            #expect(lines.filter { $0 == "\(view): 320×180" }.count == 5)
        }
    }

    @Test("FO-4 the ported observer gets upright RGBA at each position, and its edits and drops take effect")
    func frameObserver() async throws {
        let lines = try await lines("agora-frame-observer")
        func five(_ line: String) -> [String] { Array(repeating: line, count: 5) }
        // The pre-processor inverts the corner of 200 to 55. The other user gets the frame as the camera held it.
        #expect(
            lines == five("captured: 180×320 RGBA, first red 100") + five("sent: 180×320 RGBA, first red 55")
                + five("received: user bob, 180×320 RGBA, first red 100")
                + five("delivered: 320×180, 256 pixels of the corner"))
    }
}
