import CGStreamer

extension Element {
    /// Creates an `audiomixer` whose pads may be released at any time, on any thread. Returns `nil` if `audiomixer`
    /// isn't installed (package gstreamer1.0-plugins-base).
    ///
    /// A synchronous bus handler for its messages must not wait for a thread that releases a pad: the mixer posts
    /// messages while it holds the lock for which that thread waits.
    public static func audioMixer() -> Element? {
        guard AudioMixer.parentType != 0 else { return nil }
        do { return try ElementClass.make(AudioMixer.self) } catch { preconditionFailure("\(error)") }
    }
}

/// An `audiomixer` that delays the release of a pad while it mixes.
///
/// GstAudioAggregator 1.22 releases its locks while it mixes a pad's buffer, and keeps no reference to the pad or to
/// its entry in the list of pads. If the pad is released at that time, it is used after it is freed. Here the release
/// waits until no buffer is being mixed, which takes a few blocks at most. The release doesn't wait while the mix is
/// pushed downstream, which may block forever.
private final class AudioMixer: ElementImplementation, ParentClass, @unchecked Sendable {
    // `@unchecked Sendable`: a constant lock that exists as long as the element.
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
            factoryName: "", typeName: "MediaGraphAudioMixer", longName: "Audio mixer with safe pad release",
            classification: "Generic/Audio", summary: "Mixes audio streams whose pads may be released at any time",
            author: "MediaGraph",
            padTemplates: [], abiVersion: 1)
    }

    static let parentType: GType = {
        GStreamerRuntime.initialize()
        guard let factory = gst_element_factory_find("audiomixer") else { return 0 }
        defer { gst_object_unref(UnsafeMutableRawPointer(factory)) }
        // The type is registered when the plugin is loaded.
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
        // `aggregate` calls this for each mixed block, and it may block downstream: releases the lock meanwhile.
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
