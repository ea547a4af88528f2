import CGStreamer
import CGStreamerShims

/// Media formats: what a pad can carry, or does carry.
public final class Caps: @unchecked Sendable, Hashable, CustomStringConvertible {
    // `@unchecked Sendable`: caps that are shared are immutable in GStreamer, and nothing here writes to them.
    @usableFromInline package let raw: UnsafeMutablePointer<GstCaps>

    package init(taking raw: UnsafeMutablePointer<GstCaps>) {
        self.raw = raw
    }

    package init(retaining raw: UnsafeMutablePointer<GstCaps>) {
        self.raw = gst_caps_ref(raw)
    }

    /// Caps from their text; `nil` when GStreamer refuses it.
    public convenience init?(_ text: String) {
        GStreamerRuntime.initialize()
        guard let raw = gst_caps_from_string(text) else { return nil }
        self.init(taking: raw)
    }

    deinit {
        gst_caps_unref(raw)
    }

    /// A reference for C to keep.
    package var retainedRaw: UnsafeMutablePointer<GstCaps> { gst_caps_ref(raw) }

    /// The same, for a constant of the program: the leaks tracer doesn't count it.
    public var constant: Caps {
        cgst_mini_object_may_be_leaked(raw)
        return self
    }

    public static var any: Caps { Caps(taking: gst_caps_new_any()) }

    /// Which object it is, for comparing without a look inside.
    public var identity: UInt { UInt(bitPattern: raw) }

    public var isEmpty: Bool { gst_caps_is_empty(raw) != 0 }
    public var isAny: Bool { gst_caps_is_any(raw) != 0 }
    public var isFixed: Bool { gst_caps_is_fixed(raw) != 0 }
    public var count: Int { Int(gst_caps_get_size(raw)) }

    /// One of the alternatives, without its features.
    public subscript(index: Int) -> Structure { Structure(copying: gst_caps_get_structure(raw, UInt32(index))) }

    /// Whether one of the alternatives may lie in memory that the CPU reads.
    public func isInSystemMemory(_ index: Int) -> Bool {
        guard let features = gst_caps_get_features(raw, UInt32(index)) else { return true }
        return gst_caps_features_is_any(features) != 0
            || gst_caps_features_contains(features, "memory:SystemMemory") != 0
    }

    /// What both allow, in this object's order of preference.
    public func intersection(_ other: Caps) -> Caps {
        Caps(taking: gst_caps_intersect_full(raw, other.raw, GST_CAPS_INTERSECT_FIRST))
    }

    public func canIntersect(_ other: Caps) -> Bool { gst_caps_can_intersect(raw, other.raw) != 0 }
    public func isSubset(of other: Caps) -> Bool { gst_caps_is_subset(raw, other.raw) != 0 }

    public var description: String { takeString(gst_caps_to_string(raw)) ?? "" }

    public static func == (a: Caps, b: Caps) -> Bool { gst_caps_is_equal(a.raw, b.raw) != 0 }
    public func hash(into hasher: inout Hasher) { hasher.combine(description) }
}

extension Caps {
    /// One format of the first alternative, its whole numbers as near to these as may be, and its frame rate.
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
    /// These alternatives, then the other's.
    public func appending(_ other: Caps) -> Caps {
        Caps(taking: gst_caps_merge(gst_caps_copy(raw), gst_caps_ref(other.raw)))
    }

    /// Every format of raw video that GStreamer can convert, in memory that the CPU reads, progressive or interleaved.
    public static var anyRawVideo: Caps {
        Caps(taking: gst_video_make_raw_caps(nil, 0))
    }
}

extension Caps {
    /// What these can be converted to: the same video in one of `formats` (any, when empty), which may have another matrix
    /// and range unless that `keepsColorimetry`. Only for memory that the CPU reads.
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
    public static var gtype: GType { gst_caps_get_type() }
    public convenience init?(_ value: borrowing Value) {
        guard value.holds(Self.gtype), let caps = value.read({ g_value_get_boxed($0) }) else { return nil }
        self.init(retaining: caps.assumingMemoryBound(to: GstCaps.self))
    }
    public func store(in value: inout Value) { g_value_set_boxed(&value.raw, raw) }
}
