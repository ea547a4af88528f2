/// The compiler that built this copy of the code, as far as it tells.
///
/// Swift has no stable ABI on Linux, so two copies in one process must come from the same one. The language offers no
/// text with its version, only comparisons.
enum SwiftVersion {
    static let current: String = {
        #if compiler(>=6.5)
            "6.5 or later"
        #elseif compiler(>=6.4)
            "6.4"
        #elseif compiler(>=6.3.3)
            "6.3.3 or later"
        #elseif compiler(>=6.3.2)
            "6.3.2"
        #elseif compiler(>=6.3.1)
            "6.3.1"
        #elseif compiler(>=6.3)
            "6.3"
        #else
            "6.2"
        #endif
    }()
}
