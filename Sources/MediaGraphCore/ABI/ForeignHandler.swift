import CMediaGraphABI
import GStreamer

/// A handler that a library registered. The library's copy of the code creates it.
///
/// `@unchecked Sendable`: the functions and their context belong to a library that is never unloaded, and may be called
/// on any thread.
struct ForeignHandler: @unchecked Sendable {
    private let create:
        @convention(c) (
            UnsafeMutableRawPointer?, UnsafePointer<CChar>?, UnsafeMutableRawPointer?, UnsafeMutablePointer<MGError>?
        ) -> Int32
    private let check:
        @convention(c) (UnsafeMutableRawPointer?, UnsafePointer<CChar>?, UnsafeMutablePointer<MGError>?) -> Int32
    private let context: UnsafeMutableRawPointer?

    package init(_ description: MGHandlerDescription) {
        create = description.create
        check = description.validate
        context = description.context
    }

    func validate(_ options: String) throws(MediaGraphError) {
        try MediaGraphError.check { error in check(context, options, error) }
    }

    /// Creates the handler in an empty structure of its kind.
    func make(_ options: String, in structure: UnsafeMutableRawPointer) throws(MediaGraphError) {
        try MediaGraphError.check { error in create(context, options, structure, error) }
    }
}
