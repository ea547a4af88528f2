import GStreamer
import TestSupport
import Testing

@testable import MediaGraph
@testable import MediaGraphCore
@testable import MediaGraphElements

/// Tests the streams that leave a `sharesource`: formats, audio, times, pauses and ends.
@Suite struct ShareSourceStreamTests {
    // MARK: SH-2

    @Test(
        "SH-2 frames of each format and size up to 4096×2160 can follow each other, byte for byte"
    )
    func formats() async throws {
        let formats = [FrameFormat.i420, .i420Limited, FrameFormat(.nv12), FrameFormat(.bgra), FrameFormat(.rgba)]
        let sizes = [(64, 36), (4096, 2160), (333, 77), (2, 2)]
        let graph = try Graph("sharesource name=s pace=fast ! appsink name=p sync=false max-buffers=2")
        let source = RecordingShare()
        try graph.shareSource("s").attach(source)
        let seen = Log<String>()
        let bytes = Log<[UInt8]>()
        try graph.rawDataPipe("p").receive { frame in
            seen.add("\(frame.width)×\(frame.height) \(frame.format) \(frame.colorRange)")
            bytes.add(frame.packedBytes)
        }
        try await graph.start()
        var count = 0
        for (width, height) in sizes {
            for format in formats {
                let sent = Self.spotted(format.pixelFormat, width: width, height: height, seed: count)
                try sendNow(source.sender, sent, FrameDescription(width: width, height: height, format: format))
                count += 1
                #expect(waitUntil { bytes.all.count == 1 })
                #expect(seen.all.last == "\(width)×\(height) \(format.pixelFormat) \(format.range)")
                let isSame = bytes.all.first == sent
                #expect(isSame, "\(width)×\(height) \(format)")
                bytes.removeAll()
            }
        }
        #expect(source.calls.all == ["shareSendStarted"])
        await graph.stop()
        #expect(seen.all.count == count)
    }

    /// Returns a frame of one value with spots at irregular places, because filling large frames would take long.
    private static func spotted(_ format: VideoFormat, width: Int, height: Int, seed: Int) -> [UInt8] {
        var bytes = [UInt8](
            repeating: UInt8(truncatingIfNeeded: seed), count: format.packedLength(width: width, height: height))
        for place in stride(from: seed % 3, to: bytes.count, by: bytes.count / 5000 + 1) {
            bytes[place] = UInt8(truncatingIfNeeded: place)
        }
        return bytes
    }

    // MARK: SH-3

    @Test("SH-3 audio is sent on mono or stereo, as it came", arguments: [1, 2])
    func channels(count: Int) async throws {
        let graph = try Graph(
            "sharesource name=s pace=fast  s.audio ! virtualspeaker name=v channels=\(count) rate=48000")
        let share = RecordingShare()
        try graph.shareSource("s").attach(audioSource: share)
        let samples = Log<Int16>()
        let formats = Log<Int>()
        try graph.virtualSpeaker("v").receive { frame, stream in
            guard stream != .mixed else { return }
            formats.add(frame.channelCount)
            for index in frame.samples.indices { samples.add(frame.samples[index]) }
        }
        try await graph.start()
        let sent: [Int16] = (0..<960).map { (index: Int16) in index % 2 == 0 ? index : -index }
        try sendNow(share.audioSender, sent, channels: count)
        share.audioSender.endOfStream()
        _ = try await graph.waitUntilEnd()
        await graph.stop()
        #expect(samples.all == sent && Set(formats.all) == [count])
    }

    @Test("SH-3 a share may send only audio, and an unlinked video source causes a warning")
    func audioAlone() async throws {
        for withVideo in [false, true] {
            let graph = try Graph("sharesource name=s  s.audio ! fakesink sync=false")
            let share = RecordingShare()
            if withVideo { try graph.shareSource("s").attach(share) }
            try graph.shareSource("s").attach(audioSource: share)
            let blocks = Log<Int>()
            try graph.element("s").staticPad("audio")?.observeBuffers { blocks.add($0.size) }
            let events = graph.events
            try await graph.start()
            try sendNow(share.audioSender, ShareHarness.block)
            #expect(waitUntil { !blocks.all.isEmpty })
            await graph.stop()
            #expect(share.calls.all == ["startSendAudio", "stopSendAudio"])
            var warnings: [String] = []
            for await event in events { if case .warning(let failure) = event { warnings.append("\(failure)") } }
            #expect(warnings.contains { $0.contains("the src pad isn't linked") } == withVideo, "\(warnings)")
        }
    }

    @Test("SH-3 video and audio sent at the same moment get the same time, before and after a pause")
    func oneClock() async throws {
        let share = try ShareHarness()
        try share.attach()
        try await share.graph.start()
        for moment in [ClockTime.seconds(2), .seconds(60)] {
            share.clock.advance(to: moment)
            let (frames, blocks) = (share.videoTimes.all.count, share.audioTimes.all.count)
            // Without timestamps, both get the current time.
            try share.send()
            #expect(waitUntil { share.videoTimes.all.count == frames + 1 && share.audioTimes.all.count == blocks + 1 })
            #expect(share.videoTimes.all.last == moment && share.audioTimes.all.last == moment)
            try await share.node.pause()
            try await share.node.resume()
        }
        await share.graph.stop()
    }

    @Test(
        "SH-3 a paused share stops its sources and turns the status off, and resuming turns it on"
    )
    func pause() async throws {
        struct Recorder: VideoConsumer {
            let log: Log<String>
            func statusChanged(isOn: Bool) { log.add(isOn ? "on" : "off") }
            func receive(_ frame: borrowing VideoFrame) { log.add("frame") }
        }
        let graph = try Graph("sharesource name=s ! rawdatapipe name=p sync=false backpressure=block")
        let source = RecordingShare()
        let node = try graph.shareSource("s")
        try node.attach(source)
        let log = Log<String>()
        try graph.rawDataPipe("p").attach(Recorder(log: log))
        try await node.pause()
        try await graph.start()
        #expect(node.isPaused && source.calls.all == [])
        for _ in 1...3 {
            try await node.resume()
            try sendNow(source.sender, ShareHarness.frameBytes, ShareHarness.frame)
            try await node.pause()
            // The status off has left the node when `pause` returns.
            #expect(log.all == ["on", "frame", "off"])
            #expect(source.calls.all == ["shareSendStarted", "shareSendStopped"])
            #expect(
                errorCode { try sendNow(source.sender, ShareHarness.frameBytes, ShareHarness.frame) } == .wrongUsage)
            source.calls.removeAll()
            log.removeAll()
        }
        await graph.stop()
        #expect(log.all == [])
    }

    @Test("SH-3 a source may pause its own share inside its callbacks, on any thread")
    func pauseFromInside() async throws {
        let graph = try Graph("sharesource name=s ! fakesink sync=false")
        let node = try graph.shareSource("s")
        let element = node.element
        let source = RecordingShare(onStart: { _ in try element.setProperty("paused", to: true) })
        try node.attach(source)
        try await graph.start()
        #expect(source.calls.all == ["shareSendStarted", "shareSendStopped"])
        await graph.stop()
        // The callback waits for a thread that pauses the share meanwhile.
        let joining = RecordingShare(onStop: {
            NativeThread("pauses") { try? element.setProperty("paused", to: true) }.join()
        })
        try node.detach()
        try element.setProperty("paused", to: false)
        try node.attach(joining)
        try await graph.start()
        await graph.stop()
        #expect(joining.calls.all == ["shareSendStarted", "shareSendStopped"])
        #expect(node.isPaused)
    }

    @Test("SH-3 a linked stream of a share that nothing is sent to ends on request", arguments: [true, false])
    func idleStream(sendsVideo: Bool) async throws {
        let handler = sendsVideo ? "handler=counter" : "audio-handler=tone"
        let graph = try Graph(
            "sharesource name=s \(handler)  s. ! fakesink async=false  s.audio ! fakesink async=false")
        try await graph.start()
        let end = await graph.finish(within: .seconds(60))
        #expect("\(end)" == "\(GraphEnd.endOfStream)")
    }

    @Test("SH-3 a paused share ends on request, whether it has played or not", arguments: [true, false])
    func pausedEnd(hasPlayed: Bool) async throws {
        let graph = try Graph(
            """
            sharesource name=s handler=counter audio-handler=tone paused=\(!hasPlayed)
            s. ! rawdatapipe name=p  s.audio ! fakesink async=false
            """)
        let pipe = try graph.rawDataPipe("p")
        try pipe.receive { _ in }
        try await graph.start()
        if hasPlayed {
            #expect(try await eventually { pipe.statistics.frames > 0 })
            try await graph.shareSource("s").pause()
        }
        let end = await graph.finish(within: .seconds(60))
        #expect("\(end)" == "\(GraphEnd.endOfStream)")
    }
}
