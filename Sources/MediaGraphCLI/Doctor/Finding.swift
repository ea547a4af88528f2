/// Something that this machine lacks.
struct Finding: Encodable, Hashable {
    /// What is wrong, in a sentence without its end.
    var problem: String
    /// What to do about it: a command, where there is one.
    var mend: String
}
