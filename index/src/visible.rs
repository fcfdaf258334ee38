//! Which characters may stand in a line that a registry passes on: those that a reader sees where they stand.

/// Whether a character is seen, and leaves those around it as they are: no control character, no mark that turns the direction of
/// text, none of no width, no end of a line.
pub fn is_visible(char: char) -> bool {
    !char.is_control()
        && !matches!(
            char,
            '\u{ad}'
                | '\u{34f}'
                | '\u{61c}'
                | '\u{115f}'..='\u{1160}'
                | '\u{180e}'
                | '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{3164}'
                | '\u{feff}'
                | '\u{ffa0}'
                | '\u{fff9}'..='\u{fffb}'
                | '\u{e0000}'..='\u{e007f}'
        )
}

/// Whether a text is one line of at most `most` bytes in which every character is seen.
pub fn is_line(text: &str, most: usize) -> bool {
    text.len() <= most && text.chars().all(is_visible)
}

/// A text in which what is not seen is replaced by `\u{fffd}`; ends of lines stay.
pub fn shown(text: &str) -> String {
    text.chars().map(|char| if is_visible(char) || char == '\n' { char } else { '\u{fffd}' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_turns_or_hides_text_is_not_visible() {
        for char in ['\u{202e}', '\u{2066}', '\u{200b}', '\u{feff}', '\u{7}', '\u{9b}', '\n', '\u{e0041}', '\u{2028}'] {
            assert!(!is_visible(char), "{char:?}");
            assert!(!is_line(&format!("a{char}b"), 100), "{char:?}");
        }
        assert!(is_line("für 日本語, עברית: «1»", 100));
        assert!(!is_line("abc", 2));
        assert_eq!(shown("a\u{202e}b\nc\u{1b}[0m"), "a\u{fffd}b\nc\u{fffd}[0m");
    }
}
