import GStreamer
import MediaGraphCore
import Synchronization

/// Converts the frames that leave a pipe's pad `src` as the pipe converts those that it delivers
/// (`src-format=as-delivered`). The pipe makes one for each run; it has no factory.
///
/// `@unchecked Sendable`: `form` is behind a lock. The properties under “Used on the streaming thread” are accessed there,
/// under GStreamer's stream lock.
final class DeliveredFrames: BufferTransform, @unchecked Sendable {
    /// How the pipe delivers frames.
    struct Form: Sendable {
        var pipe = ""
        var setup = Subscription.Setup()
        /// The formats that the pipe's handler supports; empty for all.
        var supported: [VideoFormat] = []

        func plan(_ caps: Caps) throws(MediaGraphError) -> FramePlan {
            try FramePlan(caps, setup, supported: supported)
        }

        /// The formats that delivered frames can have.
        var caps: Caps {
            guard let format = setup.format else { return FrameCaps.of(formats: supported) }
            return Self.caps(format, keepsAlpha: setup.keepsAlpha)
        }

        /// The caps of frames that a pipe delivers in this format: I420 or A420, as the stream has alpha, if it keeps that.
        static func caps(_ format: VideoFormat, keepsAlpha: Bool) -> Caps {
            FrameCaps.of(formats: format == .i420 && keepsAlpha || format == .a420 ? [.i420, .a420] : [format])
        }
    }

    private let form = Mutex(Form())

    // Used on the streaming thread.
    private var plan: FramePlan?
    private var input: VideoInfo?
    /// The caps that downstream has.
    private var sentCaps: Caps?

    private static let convertible = BufferType.raw.caps.constant

    override class var declaration: ElementDeclaration {
        ElementDeclaration(
            factoryName: "rawdatapipesrc", typeName: "GstRawDataPipeSrc", longName: "Raw data pipe's output",
            classification: "Filter/Converter/Video", summary: "Converts frames for the pad src of rawdatapipe",
            author: NodeDefinition.author,
            padTemplates: [
                PadTemplate("sink", .sink, caps: "\(BufferType.raw.caps)"),
                PadTemplate("src", .source, caps: "video/x-raw"),
            ],
            properties: [], abiVersion: NodeDefinition.abiVersion)
    }

    /// Makes the element for a run of a pipe; `nil` if GStreamer can't make it.
    static func make(_ form: Form) -> Element? {
        guard let element = try? ElementClass.make(DeliveredFrames.self) else { return nil }
        ElementClass.implementation(of: element.element, as: DeliveredFrames.self).form.withLock { $0 = form }
        // Frames that have been turned must not be turned again.
        if form.setup.appliesRotation { element.staticPad("src")?.replaceOrientationTags(with: .upright) }
        return element
    }

    override func outputCaps(for input: Caps) -> Caps {
        let form = form.withLock { $0 }
        guard input.isFixed, let plan = try? form.plan(input) else { return form.caps }
        return plan.outputCaps
    }

    override func inputCaps(for output: Caps) -> Caps { Self.convertible }

    override func setCaps(input: Caps, output: Caps) -> Bool {
        let form = form.withLock { $0 }
        do throws(MediaGraphError) {
            let plan = try form.plan(input)
            (self.plan, self.input, sentCaps) = (plan, VideoInfo(input), output)
            setPassthrough(plan.isPassthrough)
            return true
        } catch {
            postError(.notNegotiated, "\(form.pipe): \(error)")
            return false
        }
    }

    override func transform(_ buffer: consuming Buffer) -> Buffer? {
        guard let plan, let input else { return buffer }
        let metas = FrameMetas(of: buffer.access, tagged)
        do throws(MediaGraphError) {
            let frame = try plan.apply(to: buffer.access, metas.orientation, metas.mirror)
            if frame.caps !== sentCaps, frame.caps != sentCaps { pushCaps(frame.caps) }
            sentCaps = frame.caps
            // An upright frame that isn't converted stays the stream's own buffer.
            guard frame.buffer.raw != buffer.raw else { return buffer }
            buffer.access.copyMetas(toScaled: frame.buffer.access, from: input, to: frame.info)
            frame.orientation.mark(frame.buffer.access)
            Flip.meta.set(frame.mirror.rawValue, on: frame.buffer.access)
            return frame.buffer.retained
        } catch {
            postError(.processing, "\(form.withLock { $0.pipe }): \(error)")
            return nil
        }
    }
}
