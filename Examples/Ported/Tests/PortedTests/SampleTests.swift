import Ported
import Testing

/// Checks each sample's lines for five frames. Frame `n` of the camera is a gradient that begins with `2n`.
@Suite struct SampleTests {
    private func lines(_ name: String) async throws -> [String] {
        try await #require(Sample.all.first { $0.name == name }).run(5)
    }

    @Test(
        "VS-10 each ported source runs, and its frames arrive unchanged",
        arguments: ["zoom-source-task", "zoom-source-thread"])
    func sources(name: String) async throws {
        let lines = try await lines(name)
        #expect(lines.count == 5)
        // A live pipe may drop a frame on a busy machine. The frames that arrive are in order and begin with the first.
        #expect(lines.first == "320×180 I420, first luma 0")
        #expect(lines == lines.sorted { number($0) < number($1) })
    }

    private func number(_ line: String) -> Int { Int(line.split(separator: " ").last!)! }

    @Test("VM-1 the node paces the ported microphone, which never sleeps, and loses none of its sound")
    func virtualMic() async throws {
        // The node sends 10 ms at a time.
        #expect(try await lines("zoom-virtual-mic") == [0, 0, 1, 1, 2].map { "16000 Hz, 160 samples, first \($0)" })
    }

    @Test("SH-1 the ported share starts in a session, and another user gets its growing frames")
    func shareSource() async throws {
        let lines = try await lines("zoom-share-source")
        #expect(lines.count == 5)
        // A live session may drop a frame on a busy machine. Each frame contains its number.
        let numbers = lines.map(number)
        #expect(lines == numbers.map { "\(320 + 2 * $0)×180 BGRA, first blue \($0)" })
        #expect(numbers == Array(Set(numbers)).sorted())
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
                    $0.hasSuffix("×180 I420") && isSize(Int($0.split(separator: "×")[0])!)
                })
        }
        for stream in ["mixed audio", "audio of alice"] {
            #expect(Set(about(stream)) == ["48000 Hz, 1 channel"] && about(stream).count >= 5)
        }
    }

    @Test("PP-1 each frame leaves with the ported pre-processor's watermark, and is otherwise unchanged")
    func preProcessor() async throws {
        let expected = (0..<5).map { "320×180 I420, watermark 255, next to it \(16 + 2 * $0)" }
        #expect(try await lines("zoom-pre-processor") == expected)
    }

    @Test("RP-7 in the ported heap mode a delegate's frames and a speaker's blocks outlive the graph")
    func memoryMode() async throws {
        let frames = ["video", "share"].flatMap { pipe in (0..<5).map { "\(pipe): first luma \(2 * $0)" } }
        #expect(try await lines("zoom-memory-mode") == frames + ["audio: the samples are [0]"])
    }

    @Test("RP-8 the ported delegate keeps each frame unchanged after the call, between the statuses on and off")
    func rawDataPipe() async throws {
        let turns = ["upright", "90 degrees", "180 degrees", "270 degrees", "upright"]
        let frames = turns.enumerated().map { number, turn in
            "320×180 I420, \(turn), time known, first y \(2 * number), u 128, v 128"
        }
        #expect(try await lines("zoom-raw-data-pipe") == ["on"] + frames + ["off"])
    }

    @Test("RP-12 the ported delegate gets each pixel buffer in its own memory, with its rotation")
    func pixelBuffer() async throws {
        let expected = (0..<5).map {
            "320×180 NV12 in SystemMemory, frame \($0), \($0 == 1 ? "90 degrees" : "not 90 degrees")"
        }
        #expect(try await lines("zoom-pixel-buffer") == expected)
    }

    @Test("AL-1 the ported calls query the alpha channel and turn it on, and the next frame has the mask")
    func alphaChannel() async throws {
        #expect(
            try await lines("zoom-alpha-channel") == [
                "frame 0: no alpha", "frame 1: no alpha",
                "can be enabled: true, the device supports it: true", "is enabled: true",
                "frame 2: alphaBufferLen 57600, first alpha 0", "frame 3: alphaBufferLen 57600, first alpha 0",
                "frame 4: alphaBufferLen 57600, first alpha 0", "alpha channel status changed: true",
            ])
    }

    @Test("SP-1 the ported speaker gets the mix, each user's sound, and the share, which isn't in the mix")
    func virtualSpeaker() async throws {
        let lines = try await lines("zoom-virtual-speaker")
        func stream(_ name: String, _ first: Int) -> [String] {
            [String](repeating: "\(name): bufferLen 640, sampleRate 32000, channelNum 1, first \(first)", count: 5)
        }
        #expect(
            lines == stream("mixed", 8191 + 4095) + stream("anna", 8191) + stream("bob", 4095)
                + stream("shared", 16383))
    }

    @Test("CR-1 the ported handler and the renderer get each frame of the preview and of the played stream")
    func customRender() async throws {
        let expected = [
            (0..<5).map {
                "preview: raw data video frame callback. format: BGRA, width: 320, height: 180, stride: 1280, "
                    + "flip: none, first blue: \(2 * $0)"
            },
            (0..<5).map { "view: 320×180 I420, first byte \(2 * $0)" },
            (0..<5).map {
                "playing: pixel buffer video frame callback. format: BGRA, width: 320, height: 180, flip: none, "
                    + "first blue: \(2 * $0)"
            },
            (0..<5).map { "screen: 320×180 I420, first byte \(2 * $0)" },
        ]
        #expect(try await lines("zego-custom-render") == expected.flatMap(\.self))
    }

    @Test("FO-4 the ported observer gets upright RGBA at each position, and its edits and drops take effect")
    func frameObserver() async throws {
        // The upper left corner of the upright gradient: its left edge, or its right edge, which is 319 more.
        let seen = [("320×180", 0), ("180×320", 2), ("320×180", 67), ("180×320", 69), ("320×180", 8)]
        let expected = [
            seen.map { "captured: \($0.0) RGBA, first red \($0.1)" },
            // The corner of 200, which the pre-processor has inverted.
            seen.map { "sent: \($0.0) RGBA, first red 55" },
            // These frames aren't upright, so only the first and the last begin with that corner.
            [55, 253, 251, 249, 55].map { "encoder: 320×180 I420, first luma \($0)" },
            seen.map { "received: user 42, \($0.0) RGBA, first red \($0.1)" },
            [0, 4, 8].map { "renderer: 320×180 I420, first luma \($0)" },
        ]
        #expect(try await lines("agora-frame-observer") == expected.flatMap(\.self))
    }
}
