//! Colours and line breaking. Without colour nothing but plain text comes out.

/// What a piece of text is, not how it looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    Title,
    Warning,
    Heading,
    Marked,
    Quiet,
    Good,
    Name,
}

/// Writes with or without colour, for one width.
#[derive(Clone, Copy, Debug)]
pub struct Painter {
    pub color: bool,
    pub width: usize,
}

impl Painter {
    pub fn paint(&self, role: Role, text: &str) -> String {
        let text = clean(text);
        if !self.color || text.is_empty() {
            return text;
        }
        let code = match role {
            Role::Title => "1;31",
            Role::Warning => "1;33",
            Role::Heading => "1",
            Role::Marked => "31",
            Role::Quiet => "2",
            Role::Good => "32",
            Role::Name => "36",
        };
        format!("\x1b[{code}m{text}\x1b[0m")
    }

    /// Breaks a sentence into lines that fit after an indent.
    pub fn wrap(&self, text: &str, indent: usize) -> Vec<String> {
        let room = self.width.saturating_sub(indent).max(20);
        let mut lines = Vec::new();
        let mut line = String::new();
        for word in clean(text).split_whitespace() {
            let length = line.chars().count() + 1 + word.chars().count();
            if !line.is_empty() && length > room {
                lines.push(std::mem::take(&mut line));
            }
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
        if !line.is_empty() {
            lines.push(line);
        }
        lines
    }

    /// A line of the source, cut where the screen ends.
    pub fn clip(&self, text: &str, indent: usize) -> String {
        let room = self.width.saturating_sub(indent).max(20);
        if text.chars().count() <= room {
            return text.to_owned();
        }
        let mut cut: String = text.chars().take(room - 3).collect();
        cut.push_str("...");
        cut
    }
}

/// Names come from files we do not trust: nothing in them may steer the terminal.
pub fn clean(text: &str) -> String {
    if text.chars().any(char::is_control) {
        text.chars()
            .map(|c| if c.is_control() { '?' } else { c })
            .collect()
    } else {
        text.to_owned()
    }
}
