//! Findings become text, JSON, SARIF or HTML.
