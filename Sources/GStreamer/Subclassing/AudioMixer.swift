import CGStreamer

extension Element {
    /// An `audiomixer` whose pads may be released at any moment, from any thread; `nil` where there is no audiomixer
    /// (gstreamer1.0-plugins-base). What hears its messages as they are posted must not wait for who releases a pad.
    public static func audioMixer() -> Element? {
        guard AudioMixer.parentType != 0 else { return nil }
        do { return try ElementClass.make(AudioMixer.self) } catch { preconditionFailure("\(error)") }
    }
}

/// audioaggregator 1.22 lets go of its locks while it mixes a pad's buffer, and holds neither the pad nor its place in the list
/// of them: a pad that is released just then is used when it has been freed. Here its release waits until nothing is being mixed,
/// which takes as long as a block or a few; not while the mix is pushed, which may take for ever.
private final class AudioMixer: ElementImplementation, ParentClass, @unchecked Sendable {
    // `@unchecked Sendable`: a lock that lives as long as the element.
    private let mixing = UnsafeMutablePointer<GRecMutex>.allocate(capacity: 1)

    required init(instance: ElementInstance) {
        g_rec_mutex_init(mixing)
        super.init(instance: instance)
    }

    deinit {
        g_rec_mutex_clear(mixing)
        mixing.deallocate()
    }

    override class var declaration: ElementDeclaration {
        ElementDeclaration(
            factoryName: "", typeName: "MediaGraphAudioMixer", longName: "Audio mixer whose users leave at any moment",
            classification: "Generic/Audio", summary: "Mixes the sound of users who come and go", author: "MediaGraph",
            padTemplates: [], abiVersion: 1)
    }

    static let parentType: GType = {
        GStreamerRuntime.initialize()
        guard let factory = gst_element_factory_find("audiomixer") else { return 0 }
        defer { gst_object_unref(UnsafeMutableRawPointer(factory)) }
        // Its plugin registers the type.
        guard let loaded = gst_plugin_feature_load(factory) else { return 0 }
        defer { gst_object_unref(UnsafeMutableRawPointer(loaded)) }
        return gst_element_factory_get_element_type(loaded)
    }()

    static func installClassFunctions(_ klass: UnsafeMutableRawPointer) {
        let aggregator = klass.assumingMemoryBound(to: GstAggregatorClass.self)
        aggregator.pointee.aggregate = { aggregator, timeout in
            let mixer = AudioMixer.of(aggregator!)
            g_rec_mutex_lock(mixer.mixing)
            defer { g_rec_mutex_unlock(mixer.mixing) }
            return mixer.parent(GstAggregatorClass.self).pointee.aggregate(aggregator, timeout)
        }
        // What `aggregate` calls with a block that is done.
        aggregator.pointee.finish_buffer = { aggregator, buffer in
            let mixer = AudioMixer.of(aggregator!)
            g_rec_mutex_unlock(mixer.mixing)
            defer { g_rec_mutex_lock(mixer.mixing) }
            return mixer.parent(GstAggregatorClass.self).pointee.finish_buffer(aggregator, buffer)
        }
        klass.assumingMemoryBound(to: GstElementClass.self).pointee.release_pad = { element, pad in
            let mixer = AudioMixer.of(element!)
            g_rec_mutex_lock(mixer.mixing)
            defer { g_rec_mutex_unlock(mixer.mixing) }
            mixer.parent(GstElementClass.self).pointee.release_pad(element, pad)
        }
    }

    private static func of(_ instance: UnsafeMutableRawPointer) -> AudioMixer {
        ElementClass.implementation(of: instance) as! AudioMixer
    }

    private func parent<Class>(_ type: Class.Type) -> UnsafeMutablePointer<Class> {
        ElementClass.parentClass(of: instance).assumingMemoryBound(to: type)
    }
}
