//! Strings of Python that Starlark writes differently: f-strings, juxtaposed literals, prefixes.

use ruff_python_ast::{
    BytesLiteral, ConversionFlag, Expr, ExprBytesLiteral, ExprFString, ExprStringLiteral, FString, FStringPart,
    InterpolatedElement, InterpolatedStringElement, StringLiteral,
};
use ruff_text_size::{Ranged, TextRange};

use crate::syntax::module::edits::{Edit, Piece};
use crate::syntax::module::host::Host;

/// A string literal of Starlark on one line.
pub(crate) fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for letter in text.chars() {
        match letter {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            other if other.is_control() => out.push_str(&format!("\\U{:08x}", u32::from(other))),
            other => out.push(other),
        }
    }
    out.push('"');
    out
}

impl Host<'_> {
    pub(crate) fn string(&mut self, node: &ExprStringLiteral) {
        let parts: Vec<&StringLiteral> = node.value.iter().collect();
        self.joined(node.range(), parts.len(), |host, at| {
            if let Some(part) = parts.get(at) {
                host.literal(part);
            }
            parts.get(at).map(|part| part.range())
        });
    }

    pub(crate) fn bytes(&mut self, node: &ExprBytesLiteral) {
        let parts: Vec<&BytesLiteral> = node.value.iter().collect();
        self.joined(node.range(), parts.len(), |_, at| parts.get(at).map(|part| part.range()));
    }

    /// Juxtaposed literals become a sum: `"a" "b"` is `("a" + "b")`.
    fn joined(&mut self, whole: TextRange, count: usize, mut part: impl FnMut(&mut Self, usize) -> Option<TextRange>) {
        if count <= 1 {
            part(self, 0);
            return;
        }
        self.insert(whole.start(), "(");
        for at in 0..count {
            let plus = self.edits_len();
            if let (Some(range), true) = (part(self, at), at > 0) {
                self.insert_at(plus, range.start(), "+ ");
            }
        }
        self.insert(whole.end(), ")");
    }

    /// Rewrites a literal whose spelling Starlark reads otherwise or not at all.
    fn literal(&mut self, literal: &StringLiteral) {
        if !self.reads_alike(literal) {
            let pieces = vec![Piece::Text(format!("({}", quoted(&literal.value)))];
            self.edit(Edit { range: literal.range(), pieces, tail: ")" });
        }
    }

    fn reads_alike(&self, literal: &StringLiteral) -> bool {
        let text = self.text(literal.range());
        let prefix = text.trim_start_matches(|c: char| c.is_ascii_alphabetic());
        let prefix = text.get(..text.len() - prefix.len()).unwrap_or("");
        match prefix {
            "" => !text.contains("\\N"),
            // Starlark drops the backslash before a quote in raw strings.
            "r" => !text.contains("\\\"") && !text.contains("\\'"),
            _ => false,
        }
    }

    /// `f"{a}b"` becomes `("{}b".format(a))`.
    pub(crate) fn f_string(&mut self, node: &ExprFString) {
        let mut pieces = vec![Piece::Text("(".to_string())];
        for (at, part) in node.value.iter().enumerate() {
            if at > 0 {
                pieces.push(Piece::Text(" + ".to_string()));
            }
            match part {
                FStringPart::Literal(literal) => pieces.push(Piece::Text(quoted(&literal.value))),
                FStringPart::FString(f_string) => self.formatted(f_string, &mut pieces),
            }
        }
        self.edit(Edit { range: node.range(), pieces, tail: ")" });
    }

    fn formatted(&mut self, f_string: &FString, pieces: &mut Vec<Piece>) {
        let mut format = String::new();
        let mut values: Vec<&Expr> = Vec::new();
        for element in &f_string.elements {
            match element {
                InterpolatedStringElement::Literal(literal) => format.push_str(&escaped(&literal.value)),
                InterpolatedStringElement::Interpolation(element) => {
                    self.interpolation(element, &mut format);
                    values.push(&element.expression);
                }
            }
        }
        pieces.push(Piece::Text(format!("{}.format(", quoted(&format))));
        for (at, value) in values.into_iter().enumerate() {
            if at > 0 {
                pieces.push(Piece::Text(", ".to_string()));
            }
            // Parentheses of the value are not part of its range; a tuple or lambda needs them.
            pieces.push(Piece::Text("(".to_string()));
            let edits = self.nested(|host| host.expr(value));
            pieces.push(Piece::Source { range: value.range(), edits });
            pieces.push(Piece::Text(")".to_string()));
        }
        pieces.push(Piece::Text(")".to_string()));
    }

    fn interpolation(&mut self, element: &InterpolatedElement, format: &mut String) {
        if let Some(debug) = &element.debug_text {
            let text = format!("{}{}{}", debug.leading(), debug.expression(), debug.trailing());
            format.push_str(&escaped(&text));
        }
        let trivial = match element.format_spec.as_deref() {
            None => true,
            Some(spec) => matches!(self.text(spec.range()).trim_start_matches(':'), "" | "d" | "s"),
        };
        if !trivial {
            self.refuse(
                element,
                "a format specification in an f-string",
                "write `{x}` and format the number in host code before",
            );
        }
        match element.conversion {
            ConversionFlag::None if element.debug_text.is_some() && element.format_spec.is_none() => {
                format.push_str("{!r}");
            }
            ConversionFlag::None | ConversionFlag::Str => format.push_str("{}"),
            ConversionFlag::Repr => format.push_str("{!r}"),
            ConversionFlag::Ascii => self.refuse(element, "the conversion `!a`", "use `!r`"),
        }
    }
}

fn escaped(text: &str) -> String {
    text.replace('{', "{{").replace('}', "}}")
}
