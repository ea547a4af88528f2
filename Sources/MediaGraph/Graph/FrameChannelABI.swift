import CMediaGraphABI
import GStreamer
import MediaGraphCore

extension MGVideoConsumer {
    /// Makes a channel the handler of a pipe. The channel has its own queue (`queues`), so that frames go from the
    /// streaming thread directly to the task.
    init(_ channel: FrameChannel<OwnedVideoFrame>) {
        self.init()
        abi_version = MEDIAGRAPH_ABI_VERSION
        context = Unmanaged.passRetained(channel).toOpaque()
        queues = 1
        start = { context, policy, maxFrames in
            VideoChannel.of(context).start(OverflowPolicy(rawValue: policy) ?? .block, maxFrames: Int(maxFrames))
        }
        interrupt = { VideoChannel.of($0).interrupt() }
        resume = { VideoChannel.of($0).resume() }
        frame = { context, frame, error in
            VideoChannel.of(context).receive(error) { () throws(MediaGraphError) in
                try OwnedVideoFrame(retaining: frame!.pointee)
            }
        }
        status = { _, _ in }
        end = { context, _ in
            VideoChannel.of(context).end(nil)
            return MG_PASS
        }
        destroy = { Unmanaged<VideoChannel>.fromOpaque($0!).release() }
        storeName("frames", in: &name)
    }
}

extension MGAudioConsumer {
    /// Makes a channel the handler of a speaker. The channel has its own queue (`queues`), so that blocks go from the
    /// streaming threads directly to the task.
    init(_ channel: FrameChannel<SpeakerAudio>) {
        self.init()
        abi_version = MEDIAGRAPH_ABI_VERSION
        context = Unmanaged.passRetained(channel).toOpaque()
        queues = 1
        registered = { _, _ in }
        start = { FrameChannel<SpeakerAudio>.of($0).start(OverflowPolicy(rawValue: $1) ?? .block, maxFrames: Int($2)) }
        interrupt = { FrameChannel<SpeakerAudio>.of($0).interrupt() }
        resume = { FrameChannel<SpeakerAudio>.of($0).resume() }
        frame = { context, stream, frame, error in
            FrameChannel<SpeakerAudio>.of(context).receive(error) { () throws(MediaGraphError) in
                SpeakerAudio(
                    stream: SpeakerStream(stream!.pointee), frame: try OwnedAudioFrame(retaining: frame!.pointee))
            }
        }
        status = { _, _, _ in }
        end = { context, _ in
            FrameChannel<SpeakerAudio>.of(context).end(nil)
            return MG_PASS
        }
        detach = { _ in 0 }
        destroy = { Unmanaged<FrameChannel<SpeakerAudio>>.fromOpaque($0!).release() }
        storeName("audio", in: &name)
    }
}

private typealias VideoChannel = FrameChannel<OwnedVideoFrame>

extension FrameChannel {
    /// Returns the channel behind a handler's context pointer.
    static func of(_ context: UnsafeMutableRawPointer?) -> FrameChannel {
        Unmanaged<FrameChannel>.fromOpaque(context!).takeUnretainedValue()
    }

    /// Queues the frame that `retain` returns, and returns the answer for the node.
    fileprivate func receive(
        _ error: UnsafeMutablePointer<MGError>?, _ retain: () throws(MediaGraphError) -> Frame
    ) -> Int32 {
        do throws(MediaGraphError) { return receive(try retain()) ? MG_PASS : MG_DROP } catch let failure {
            failure.store(in: error)
            return MG_FAILED
        }
    }
}

extension NodeVTable {
    /// Subscribes a channel to a pipe, in addition to the pipe's delegates.
    static func subscribe(
        _ channel: FrameChannel<OwnedVideoFrame>, _ resolution: Resolution, _ format: PipeFormat = .auto,
        to element: Element
    ) throws(MediaGraphError) {
        var receiver = MGVideoConsumer(channel)
        receiver.identity = UnsafeRawPointer(Unmanaged.passUnretained(channel).toOpaque())
        try subscribe(receiver, resolution, format, to: element)
    }
}
