import MediaGraph

// Ported from the Zoom Video SDK's "Remove backgrounds with an alpha channel": turning it on, its callback, and
// alphaBuffer (Swift and Objective-C).
//
// Faults of the original: it asks whether the device supports alpha, and later whether alpha is on, and ignores both
// answers. Here enabling throws an error with the reason if it isn't possible. The alpha plane is a plane with a size,
// not an address and a length. While alpha is off, there is no plane, rather than a plane of length 0.

private final class MyRawDataPipeDelegate: RawDataDelegate {
    private let videoHelper: AlphaChannelNode
    private let firstWithAlpha: Int
    private let lines: Lines

    /// Creates a delegate that turns the alpha channel on so that frame `firstWithAlpha` is the first with alpha.
    init(_ videoHelper: AlphaChannelNode, from firstWithAlpha: Int, _ lines: Lines) {
        self.videoHelper = videoHelper
        self.firstWithAlpha = firstWithAlpha
        self.lines = lines
    }

    func received(_ rawData: borrowing VideoFrame, from pipe: PipeIdentity) throws {
        let number = rawData.presentationTimestamp?.frameIndex(at: Fraction(30, 1)) ?? -1
        if let alpha = rawData.alpha {
            lines.add("frame \(number): alphaBufferLen \(alpha.byteCount), first alpha \(alpha.row(0)[0])")
        } else {
            lines.add("frame \(number): no alpha")
        }
        if number == firstWithAlpha - 1 {
            lines.add("can be enabled: \(videoHelper.canEnable), the device supports it: \(videoHelper.isSupported)")
            try videoHelper.enable(true)
            lines.add("is enabled: \(videoHelper.isEnabled)")
        }
    }
}

extension Sample {
    static let zoomAlphaChannel = Sample(
        name: "zoom-alpha-channel", summary: "alpha channel mode, turned on halfway, with a green screen"
    ) { frames in
        let graph = try Graph(
            """
            videotestsrc pattern=green num-buffers=\(frames) ! video/x-raw,width=320,height=180,framerate=30/1 !
            alphachannel name=helper mask="alpha method=green" ! rawdatapipe name=video format=A420
            """)
        let lines = Lines()
        let statusChanges = Task { [events = graph.events] in
            var changes: [String] = []
            for await event in events {
                if case .alphaChannel("helper", let isOn) = event {
                    changes.append("alpha channel status changed: \(isOn)")
                }
            }
            return changes
        }
        let delegate = MyRawDataPipeDelegate(try graph.alphaChannel("helper"), from: frames / 2, lines)
        try graph.rawDataPipe("video").subscribe(delegate, resolution: .p720)
        try await graph.run()
        // The pipe holds its delegates weakly.
        return await withExtendedLifetime(delegate) { lines.all } + statusChanges.value
    }
}
