//! Functions and files that are too long to be read at one go.

use syn::spanned::Spanned;
use syn::visit::{self, Visit};

use crate::ratchet::Count;
use crate::sources::{Crate, SourceFile};

/// Lines a function may have, from `fn` to its closing brace.
const FUNCTION_LINES_MAX: usize = 70;

/// Lines a file may have.
const FILE_LINES_MAX: usize = 400;

/// What is longer.
pub(crate) fn counts(crates: &[Crate]) -> [Count; 2] {
    let files = || crates.iter().flat_map(|one| &one.files);
    let long_files = files().filter_map(|file| {
        let lines = file.text.lines().count();
        let shown = file.shown();
        (lines > FILE_LINES_MAX)
            .then(|| format!("{shown}: {lines} lines, {FILE_LINES_MAX} at most: split it"))
    });
    [
        Count { name: "long_functions", found: files().flat_map(long_functions).collect() },
        Count { name: "long_files", found: long_files.collect() },
    ]
}

fn long_functions(file: &SourceFile) -> Vec<String> {
    let mut functions = Functions(Vec::new());
    functions.visit_file(&file.syntax);
    let long = functions.0.into_iter().filter(|function| function.lines > FUNCTION_LINES_MAX);
    long.map(|Function { name, line, lines }| {
        let shown = file.shown();
        format!("{shown}:{line}: {name} has {lines} lines, {FUNCTION_LINES_MAX} at most: split it")
    })
    .collect()
}

struct Function {
    name: String,
    line: usize,
    lines: usize,
}

struct Functions(Vec<Function>);

impl Functions {
    fn add(&mut self, signature: &syn::Signature, body: &syn::Block) {
        let line = signature.fn_token.span().start().line;
        let lines = body.span().end().line + 1 - line;
        self.0.push(Function { name: signature.ident.to_string(), line, lines });
    }
}

impl<'ast> Visit<'ast> for Functions {
    fn visit_item_fn(&mut self, function: &'ast syn::ItemFn) {
        self.add(&function.sig, &function.block);
        visit::visit_item_fn(self, function);
    }

    fn visit_impl_item_fn(&mut self, function: &'ast syn::ImplItemFn) {
        self.add(&function.sig, &function.block);
        visit::visit_impl_item_fn(self, function);
    }

    fn visit_trait_item_fn(&mut self, function: &'ast syn::TraitItemFn) {
        if let Some(body) = &function.default {
            self.add(&function.sig, body);
        }
        visit::visit_trait_item_fn(self, function);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &str) -> SourceFile {
        SourceFile::parse("x.rs".as_ref(), text.to_owned()).unwrap()
    }

    #[test]
    fn lines_are_counted_from_fn_to_the_last_brace() {
        let body = |lines: usize| "    a();\n".repeat(lines);
        let with = |lines| format!("/// A doc.\n#[inline]\nfn short() {{\n{}}}\n", body(lines));
        assert_eq!(long_functions(&file(&with(68))), [] as [String; 0]);
        let found = long_functions(&file(&with(69)));
        assert_eq!(found, ["x.rs:3: short has 71 lines, 70 at most: split it"]);
    }

    #[test]
    fn methods_count_too() {
        let long = "a();\n".repeat(80);
        let text = format!(
            "impl A {{ fn one() {{\n{long}}} }}\ntrait B {{ fn two() {{\n{long}}}\nfn three(); }}"
        );
        assert_eq!(long_functions(&file(&text)).len(), 2);
    }
}
