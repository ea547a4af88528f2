import CGStreamer

/// A plugin file while its `plugin_init` runs.
public struct Plugin {
    package let raw: OpaquePointer

    /// From the argument of a plugin's init function.
    public init(_ raw: OpaquePointer) { self.raw = raw }
}
