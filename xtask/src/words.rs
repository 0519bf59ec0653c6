//! Decisions by searching a text for words: what fstrial itself says is data before it is words, so
//! only texts of foreign programs may be searched.

use anyhow::Result;
use syn::visit::{self, Visit};

use crate::allowed::Rule;
use crate::sources::{Crate, SourceFile, is_test};

/// Methods that search a text.
const SEARCHES: [&str; 10] = [
    "starts_with",
    "ends_with",
    "contains",
    "strip_prefix",
    "strip_suffix",
    "find",
    "rfind",
    "split_once",
    "rsplit_once",
    "matches",
];

pub(crate) fn check(crates: &[Crate]) -> Result<Vec<String>> {
    let constants: Vec<(String, String)> =
        crates.iter().flat_map(|one| &one.files).flat_map(constants).collect();
    Rule {
        list: "xtask/words.toml",
        text: include_str!("../words.toml"),
        broken: &|file| searches(file, &constants),
        advice: "decides by words: keep what they mean as data",
    }
    .check(crates)
}

/// Constants of a file that are texts.
fn constants(file: &SourceFile) -> Vec<(String, String)> {
    let mut found = Constants(Vec::new());
    found.visit_file(&file.syntax);
    found.0
}

struct Constants(Vec<(String, String)>);

impl<'ast> Visit<'ast> for Constants {
    fn visit_item_const(&mut self, constant: &'ast syn::ItemConst) {
        if let Some(text) = text_of(&constant.expr) {
            self.0.push((constant.ident.to_string(), text));
        }
    }
}

/// The line and the words of each search.
fn searches(file: &SourceFile, constants: &[(String, String)]) -> Vec<(usize, String)> {
    let mut found = Searches { constants, found: Vec::new() };
    found.visit_file(&file.syntax);
    found.found
}

struct Searches<'c> {
    constants: &'c [(String, String)],
    found: Vec<(usize, String)>,
}

impl<'ast> Visit<'ast> for Searches<'_> {
    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        if !is_test(&module.attrs) {
            visit::visit_item_mod(self, module);
        }
    }

    fn visit_item_fn(&mut self, function: &'ast syn::ItemFn) {
        if !is_test(&function.attrs) {
            visit::visit_item_fn(self, function);
        }
    }

    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        let texts = match call.args.first() {
            Some(given) if SEARCHES.contains(&call.method.to_string().as_str()) => {
                self.texts(given)
            }
            _ => Vec::new(),
        };
        if let Some(words) = texts.into_iter().find(|text| is_words(text)) {
            let line = call.method.span().start().line;
            self.found.push((line, format!("{}({words:?})", call.method)));
        }
        visit::visit_expr_method_call(self, call);
    }
}

impl Searches<'_> {
    /// What is searched for: the literal, or the constants of that name.
    fn texts(&self, given: &syn::Expr) -> Vec<String> {
        let name = match given {
            syn::Expr::Path(path) => path.path.segments.last().map(|last| last.ident.to_string()),
            other => return text_of(other).into_iter().collect(),
        };
        let of_name = self.constants.iter().filter(|(known, _)| Some(known) == name.as_ref());
        of_name.map(|(_, text)| text.clone()).collect()
    }
}

fn text_of(expression: &syn::Expr) -> Option<String> {
    match expression {
        syn::Expr::Lit(literal) => match &literal.lit {
            syn::Lit::Str(text) => Some(text.value()),
            _ => None,
        },
        syn::Expr::Reference(reference) => text_of(&reference.expr),
        _ => None,
    }
}

/// Whether a text is words of a sentence: a word of letters with a space before or behind it.
fn is_words(text: &str) -> bool {
    let is_word = |word: &&str| {
        let letters = word.chars().filter(|c| c.is_alphabetic()).count();
        letters > 1 && word.chars().any(char::is_lowercase)
    };
    text.contains(' ') && text.split(' ').any(|word| is_word(&word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn searches_for_words_are_found_and_those_for_names_and_in_tests_are_not() {
        let text = "const SAID: &str = \"trial refused: \";\nconst NAME: &str = \"figure.\";\n\
                    fn f(s: &str) { s.starts_with(\"undecided, so\"); s.contains(\" fastest\");\n\
                    s.strip_prefix(SAID); s.starts_with(NAME); s.contains(\", \"); s.find('x');\n\
                    s.ends_with(\"_rate\"); }\n\
                    #[cfg(test)]\nmod tests { fn g(s: &str) { s.contains(\"two words\"); } }\n";
        let file = SourceFile::parse("crates/a/src/b.rs".as_ref(), text.to_owned()).unwrap();
        let known = constants(&file);
        let found: Vec<_> = searches(&file, &known);
        let expected = [
            (3, "starts_with(\"undecided, so\")"),
            (3, "contains(\" fastest\")"),
            (4, "strip_prefix(\"trial refused: \")"),
        ];
        assert_eq!(found, expected.map(|(line, what)| (line, what.to_owned())));
    }
}
