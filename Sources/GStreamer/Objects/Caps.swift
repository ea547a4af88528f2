import CGStreamer
import CGStreamerShims

/// A reference to caps (`GstCaps`): a list of structures, each of which describes alternative media formats.
public final class Caps: @unchecked Sendable, Hashable, CustomStringConvertible {
    // `@unchecked Sendable`: GStreamer doesn't change shared caps, and this class never writes to them.
    @usableFromInline package let raw: UnsafeMutablePointer<GstCaps>

    package init(taking raw: UnsafeMutablePointer<GstCaps>) {
        self.raw = raw
    }

    package init(retaining raw: UnsafeMutablePointer<GstCaps>) {
        self.raw = gst_caps_ref(raw)
    }

    /// The caps of a CAPS event; `nil` for other events.
    convenience init?(of event: UnsafeMutablePointer<GstEvent>) {
        guard event.pointee.type == GST_EVENT_CAPS else { return nil }
        var caps: UnsafeMutablePointer<GstCaps>?
        gst_event_parse_caps(event, &caps)
        guard let caps else { return nil }
        self.init(retaining: caps)
    }

    /// Parses caps from text, such as `video/x-raw, format=I420`; `nil` if GStreamer can't parse it.
    public convenience init?(_ text: String) {
        GStreamerRuntime.initialize()
        guard let raw = gst_caps_from_string(text) else { return nil }
        self.init(taking: raw)
    }

    deinit {
        gst_caps_unref(raw)
    }

    /// The caps with a new reference, for C code that takes ownership of it.
    package var retainedRaw: UnsafeMutablePointer<GstCaps> { gst_caps_ref(raw) }

    /// These caps, marked for GStreamer's leaks tracer as a constant that is never released.
    public var constant: Caps {
        cgst_mini_object_may_be_leaked(raw)
        return self
    }

    /// The caps `ANY`, which match every format.
    public static var any: Caps { Caps(taking: gst_caps_new_any()) }

    /// The object's address, to compare objects without comparing their content. Valid while a reference exists.
    public var identity: UInt { UInt(bitPattern: raw) }

    /// Whether the caps have no structure, so that no format matches.
    public var isEmpty: Bool { gst_caps_is_empty(raw) != 0 }
    /// Whether the caps are `ANY`.
    public var isAny: Bool { gst_caps_is_any(raw) != 0 }
    /// Whether the caps describe exactly one format.
    public var isFixed: Bool { gst_caps_is_fixed(raw) != 0 }
    /// The number of structures.
    public var count: Int { Int(gst_caps_get_size(raw)) }

    /// A copy of the structure at `index`, without its caps features.
    public subscript(index: Int) -> Structure { Structure(copying: gst_caps_get_structure(raw, UInt32(index))) }

    /// Returns whether the caps features of the structure at `index` allow system memory, which the CPU can read.
    public func isInSystemMemory(_ index: Int) -> Bool { isInMemory(["memory:SystemMemory"], index) }

    /// Returns whether the caps features of the structure at `index` allow one of these kinds of memory, such as
    /// "memory:DMABuf".
    package func isInMemory(_ kinds: [String], _ index: Int) -> Bool {
        guard let features = gst_caps_get_features(raw, UInt32(index)) else { return true }
        return gst_caps_features_is_any(features) != 0
            || kinds.contains { gst_caps_features_contains(features, $0) != 0 }
    }

    /// Returns the formats that both caps allow, in the order of these caps.
    public func intersection(_ other: Caps) -> Caps {
        Caps(taking: gst_caps_intersect_full(raw, other.raw, GST_CAPS_INTERSECT_FIRST))
    }

    /// Returns whether any format is allowed by both caps.
    public func canIntersect(_ other: Caps) -> Bool { gst_caps_can_intersect(raw, other.raw) != 0 }
    /// Returns whether `other` allows all formats that these caps allow.
    public func isSubset(of other: Caps) -> Bool { gst_caps_is_subset(raw, other.raw) != 0 }

    /// The caps as text.
    public var description: String { takeString(gst_caps_to_string(raw)) ?? "" }

    /// Whether both caps allow the same formats (`gst_caps_is_equal`).
    public static func == (a: Caps, b: Caps) -> Bool { gst_caps_is_equal(a.raw, b.raw) != 0 }
    /// Hashes the structures' names, because equal caps may differ in everything else that their texts say.
    public func hash(into hasher: inout Hasher) { hasher.combine(Set((0..<count).map { self[$0].name })) }
}

extension Caps {
    /// Returns fixed caps from the first structure, with the integer fields as near to `numbers` and the frame rate as
    /// near to `frameRate` as it allows. A field that the structure lacks is added. Returns `nil` if the caps are empty
    /// or `ANY`.
    public func fixated(near numbers: [(field: String, value: Int)], frameRate: Fraction? = nil) -> Caps? {
        guard !isEmpty, !isAny else { return nil }
        let first = gst_caps_truncate(gst_caps_copy(raw))!
        let structure = gst_caps_get_structure(first, 0)
        for (field, value) in numbers {
            if gst_structure_has_field(structure, field) == 0 {
                Value(Int32(value)).read { gst_structure_set_value(structure, field, $0) }
            } else {
                gst_structure_fixate_field_nearest_int(structure, field, gint(value))
            }
        }
        if let rate = frameRate {
            gst_structure_fixate_field_nearest_fraction(structure, "framerate", rate.numerator, rate.denominator)
        }
        return Caps(taking: gst_caps_fixate(first))
    }
}

extension Caps {
    /// Returns these caps followed by the structures of `other` that aren't a subset of them.
    public func appending(_ other: Caps) -> Caps {
        Caps(taking: gst_caps_merge(gst_caps_copy(raw), gst_caps_ref(other.raw)))
    }

    /// Returns these caps without one of their fields, so that it may have any value.
    public func removing(_ field: String) -> Caps {
        let result = gst_caps_copy(raw)!
        for index in 0..<gst_caps_get_size(result) {
            gst_structure_remove_field(gst_caps_get_structure(result, index), field)
        }
        return Caps(taking: result)
    }

    /// All formats of raw video that GStreamer supports, in system memory, progressive or interleaved.
    public static var anyRawVideo: Caps { anyRawVideo(in: nil) }

    /// Returns all formats of raw video that GStreamer supports, in a kind of memory such as "memory:DMABuf"; in system
    /// memory for `nil`.
    package static func anyRawVideo(in memory: String?) -> Caps {
        Caps(
            taking: gst_video_make_raw_caps_with_features(nil, 0, memory.flatMap { gst_caps_features_from_string($0) }))
    }
}

extension Caps {
    /// Returns the caps to which a converter can convert these: the same video in each of `formats`, or in any pixel
    /// format if `formats` is empty. The colorimetry and chroma site may be any, unless `keepsColorimetry`. Structures
    /// that aren't in system memory are left out.
    public func reformatted(to formats: [VideoFormat], keepsColorimetry: Bool = false) -> Caps {
        let result = gst_caps_new_empty()!
        for index in 0..<gst_caps_get_size(raw) {
            guard let features = gst_caps_get_features(raw, index),
                gst_caps_features_contains(features, "memory:SystemMemory") != 0
                    || gst_caps_features_get_size(features) == 0
            else { continue }
            let structure = gst_structure_copy(gst_caps_get_structure(raw, index))!
            gst_structure_remove_field(structure, "format")
            if !keepsColorimetry {
                gst_structure_remove_field(structure, "colorimetry")
                gst_structure_remove_field(structure, "chroma-site")
            }
            guard !formats.isEmpty else {
                gst_caps_append_structure(result, structure)
                continue
            }
            for format in formats {
                let copy = gst_structure_copy(structure)!
                Value(format.gstreamerName).read { gst_structure_set_value(copy, "format", $0) }
                gst_caps_append_structure(result, copy)
            }
            gst_structure_free(structure)
        }
        return Caps(taking: gst_caps_simplify(result))
    }
}

extension Caps: ValueConvertible {
    /// `GST_TYPE_CAPS`.
    public static var gtype: GType { gst_caps_get_type() }

    /// Reads the caps from a value; `nil` if the value has another type or no caps.
    public convenience init?(_ value: borrowing Value) {
        guard value.holds(Self.gtype), let caps = value.read({ g_value_get_boxed($0) }) else { return nil }
        self.init(retaining: caps.assumingMemoryBound(to: GstCaps.self))
    }

    /// Writes the caps to a value of the type `gtype`.
    public func store(in value: inout Value) { g_value_set_boxed(&value.raw, raw) }
}
