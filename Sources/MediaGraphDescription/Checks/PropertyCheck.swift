import GStreamer

/// Checks that every property exists, is writable and accepts its value. GObject only prints a warning about some of
/// these problems, and ignores the value.
enum PropertyCheck {
    static func problems(in context: CheckContext) -> [Problem] {
        context.factories.flatMap { index, factory in
            let element = context.parsed.elements[index]
            var seen: [String: ParsedProperty] = [:]
            let misplaced = MisplacedOptions(element, factory)
            var problems = element.properties.enumerated().compactMap { place, property -> Problem? in
                if property.isOfChild, factory.isChildProxy {
                    return ChildPropertyCheck.problem(property, of: index, factory, context)
                }
                guard !property.nameRange.isEmpty, !property.name.contains("…") else { return nil }
                guard let info = factory.property(property.name) else {
                    var problem = unknown(property, of: factory)
                    if let misplaced, let member = misplaced.members.firstIndex(of: place) {
                        // Report all misplaced options as one problem.
                        if member > 0 { return nil }
                        problem.hint = misplaced.hint
                    }
                    return problem
                }
                if let first = seen.updateValue(property, forKey: info.name) {
                    if let problem = repeated(first, property, info, element) { return problem }
                }
                if element.isBin, info.isConstructOnly {
                    return Problem(
                        place: .expanded(property.range),
                        message: "property \"\(info.name)\" can't be set on a bin in parentheses",
                        hint: "remove it: the property can only be set while the bin is being created")
                }
                return problem(property, info, label: element.factory)
            }
            problems += element.presets.compactMap { presetProblem($0, factory) }
            return problems
        }
    }

    /// Returns the problem of setting a property that `info` describes; `nil` if there is none.
    static func problem(_ property: ParsedProperty, _ info: PropertyInfo, label: String) -> Problem? {
        guard info.isWritable else {
            return Problem(
                place: .expanded(property.nameRange), message: "property \"\(info.name)\" of \(label) can't be set",
                hint: "remove it: the property is read-only")
        }
        if property.isUnknown { return nil }
        guard let error = info.valueError(for: property.value) else {
            return NestedDescriptionCheck.isDescription(info, of: label)
                ? NestedDescriptionCheck.problem(property, info, of: label) : forgottenValue(property)
        }
        return Problem(
            place: .expanded(property.valueRange), message: message(property, info, error, label: label),
            hint: hint(property, info, error))
    }

    private static func message(
        _ property: ParsedProperty, _ info: PropertyInfo, _ error: PropertyValueError, label: String
    ) -> String {
        switch info.kind {
        case .enumeration, .flags: "\"\(property.value)\" isn't a valid value for \(info.name) of \(label)"
        default:
            switch error {
            case .unreadable, .misread: "\"\(property.value)\" isn't a valid value for \(info.name) of \(label)"
            case .outOfRange: "\(property.value) is out of range for \(info.name) of \(label)"
            }
        }
    }

    private static func hint(_ property: ParsedProperty, _ info: PropertyInfo, _ error: PropertyValueError) -> String {
        if case .misread(let reason) = error { return reason }
        if let advice = ShellValue.advice(property.name, property.value) { return advice.hint }
        if error == .outOfRange, let remedy = BitRateCheck.remedy(property.value, info) { return remedy }
        if info.kind == .fraction,
            let meant = NumberSuggestion.fraction(property.value, isRate: info.name.contains("rate"))
        {
            return "did you mean \(meant)?"
        }
        if let hint = unitHint(property.value, info) { return hint }
        // For a number, a choice with a similar spelling is no useful suggestion.
        guard case .enumeration(let choices) = info.kind, property.value.first?.isNumber != true,
            let near = NearestName.find(property.value, among: choices.map(\.nick))
        else { return info.expectation }
        return "did you mean \"\(near)\"?"
    }

    /// Returns a hint for a number with a unit, if the property accepts only the number.
    private static func unitHint(_ value: String, _ info: PropertyInfo) -> String? {
        if case .integer = info.kind, let time = NumberSuggestion.time(value, info.blurb),
            info.valueError(for: time.value) == nil
        {
            return "it is in \(time.unit): write \(time.value)"
        }
        let meant =
            BitRateCheck.isInKilobits(info) ? NumberSuggestion.beforeK(value) : NumberSuggestion.thousands(value)
        return meant.flatMap { info.valueError(for: $0) == nil ? "did you mean \($0)?" : nil }
    }

    /// Returns the problem of a property that the element `factory` doesn't have.
    static func unknown(_ property: ParsedProperty, of factory: ElementFactoryInfo) -> Problem {
        unknown(
            property, label: factory.name, names: factory.properties.map(\.name),
            list: "`mediagraph inspect \(factory.name)` lists its properties")
    }

    /// Returns the problem of a property that doesn't exist. `names` are the properties that exist; `list` says how to
    /// list them.
    static func unknown(_ property: ParsedProperty, label: String, names: [String], list: String? = nil) -> Problem {
        let name = property.childPath.last ?? property.name
        return Problem(
            place: .expanded(property.nameRange), message: "\(label) has no property \"\(name)\"",
            hint: NearestName.find(name, among: names).map { "did you mean \"\($0)\"?" }
                ?? list)
    }

    private static func repeated(
        _ first: ParsedProperty, _ second: ParsedProperty, _ info: PropertyInfo, _ element: ParsedElement
    ) -> Problem? {
        let message = "property \"\(info.name)\" is set twice"
        if info.isConstruct || info.isConstructOnly {
            return Problem(
                place: .expanded(second.range), message: message,
                hint: "remove one of them: \(element.factory) accepts it only once, when it is created")
        }
        guard !first.isUnknown, !second.isUnknown, first.value != second.value,
            info.valueError(for: second.value) == nil
        else { return nil }
        return Problem(
            place: .expanded(second.range), severity: .warning,
            message: "\(message), and only the last value counts", hint: "remove one of them")
    }

    /// Returns a warning for `name= ! x`: GStreamer skips the spaces after "=", so the "!" of the link becomes the
    /// value.
    private static func forgottenValue(_ property: ParsedProperty) -> Problem? {
        guard property.value == "!" else { return nil }
        return Problem(
            place: .expanded(property.range), severity: .warning,
            message: "property \"\(property.name)\" is set to \"!\"",
            hint: "if the value is missing, write it before the \"!\"; write \"\" for an empty value")
    }

    private static func presetProblem(_ preset: ParsedText, _ factory: ElementFactoryInfo) -> Problem? {
        guard factory.isPreset else {
            return Problem(place: .expanded(preset.range), message: "\(factory.name) has no presets")
        }
        // GStreamer ignores an empty preset.
        if preset.text.isEmpty || preset.text.contains("…") { return nil }
        let names = factory.presetNames
        if names.contains(preset.text) { return nil }
        let known = names.isEmpty ? "no presets are installed for it" : "one of " + names.joined(separator: ", ")
        return Problem(
            place: .expanded(preset.range), message: "\(factory.name) has no preset \"\(preset.text)\"", hint: known)
    }
}
