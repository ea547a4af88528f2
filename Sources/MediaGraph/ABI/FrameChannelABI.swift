import CMediaGraphABI
import GStreamer

extension MGVideoConsumer {
    /// A channel as a pipe's handler: it queues by itself, so frames go from the streaming thread straight to the task.
    init(_ channel: FrameChannel<OwnedVideoFrame>) {
        self.init()
        abi_version = MEDIAGRAPH_ABI_VERSION
        context = Unmanaged.passRetained(channel).toOpaque()
        queues = 1
        memory_mode = MemoryMode.heap.rawValue + 1
        start = { context, policy, maxFrames in
            VideoChannel.of(context).start(OverflowPolicy(rawValue: policy) ?? .block, maxFrames: Int(maxFrames))
        }
        interrupt = { VideoChannel.of($0).interrupt() }
        resume = { VideoChannel.of($0).resume() }
        frame = { context, frame, _ in
            VideoChannel.of(context).receive(OwnedVideoFrame(retainingOrCopying: frame!.pointee)) ? MG_PASS : MG_DROP
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

private typealias VideoChannel = FrameChannel<OwnedVideoFrame>

extension FrameChannel {
    static func of(_ context: UnsafeMutableRawPointer?) -> FrameChannel {
        Unmanaged<FrameChannel>.fromOpaque(context!).takeUnretainedValue()
    }
}
