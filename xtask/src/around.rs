//! What goes around `crates/files`: changes of files and directories by a path, which another
//! user of the machine may have made to lead elsewhere.

use anyhow::Result;
use syn::visit::{self, Visit};

use crate::allowed::Rule;
use crate::sources::{Crate, SourceFile, is_test};

/// Functions of these modules and types that follow a path.
const FOLLOW: [(&str, &[&str]); 10] = [
    (
        "fs",
        &[
            "write",
            "copy",
            "rename",
            "create_dir",
            "create_dir_all",
            "hard_link",
            "remove_dir",
            "remove_dir_all",
            "remove_file",
            "set_permissions",
            "symlink",
            "chown",
            "lchown",
            "canonicalize",
            "metadata",
            "symlink_metadata",
            "read_link",
            "read_dir",
            "read",
            "read_to_string",
            // Of rustix.
            "open",
            "stat",
            "lstat",
            "statfs",
            "statvfs",
            "access",
            "CWD",
        ],
    ),
    ("File", &["create", "create_new", "options", "open"]),
    ("OpenOptions", &["new"]),
    ("DirBuilder", &["new"]),
    ("unix", &["symlink", "chown"]),
    ("mount", &["mount", "unmount", "mount_bind", "mount_change", "move_mount", "open_tree"]),
    ("env", &["set_current_dir"]),
    ("tempfile", &["tempdir", "tempdir_in", "tempfile", "tempfile_in"]),
    ("Mount", &["of"]),
    ("rustix", &["chdir"]),
];

/// Functions that follow a path and are called by their names alone.
const ALONE: [&str; 9] = [
    "mount",
    "unmount",
    "mount_bind",
    "mount_change",
    "move_mount",
    "statfs",
    "statvfs",
    "canonicalize",
    "symlink",
];

/// Methods of paths and commands that follow a path.
const METHODS: [&str; 6] =
    ["canonicalize", "symlink_metadata", "read_link", "read_dir", "exists", "current_dir"];

/// Where nobody but root and the kernel can change a path.
const FIXED: [&str; 6] = ["/proc/", "/sys/", "/dev/", "/etc/", "/lib/", "/usr/"];

/// Places that go around it without a reason in the list, and reasons that nothing needs.
pub(crate) fn check(crates: &[Crate]) -> Result<Vec<String>> {
    Rule {
        list: "xtask/around.toml",
        text: include_str!("../around.toml"),
        broken: &follows,
        advice: "follows a path that others could change: use crate files",
    }
    .check(crates)
}

/// The line and the name of each.
fn follows(file: &SourceFile) -> Vec<(usize, String)> {
    let mut paths = Paths(Vec::new());
    paths.visit_file(&file.syntax);
    paths.0
}

struct Paths(Vec<(usize, String)>);

impl Paths {
    fn note(&mut self, name: &syn::Ident, what: String) {
        self.0.push((name.span().start().line, what));
    }
}

impl<'ast> Visit<'ast> for Paths {
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

    fn visit_expr_call(&mut self, call: &'ast syn::ExprCall) {
        if call.args.first().is_some_and(is_fixed) {
            call.args.iter().for_each(|argument| self.visit_expr(argument));
            return;
        }
        if let syn::Expr::Path(called) = &*call.func
            && let Some(name) = called.path.get_ident()
            && ALONE.contains(&name.to_string().as_str())
        {
            self.note(name, name.to_string());
        }
        visit::visit_expr_call(self, call);
    }

    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        let name = call.method.to_string();
        let of_path = match name.as_str() {
            // Those of a file in a directory that is listed have no argument either.
            "current_dir" => call.args.len() == 1,
            _ => call.args.is_empty(),
        };
        if of_path && METHODS.contains(&name.as_str()) && !is_fixed(&call.receiver) {
            self.note(&call.method, format!(".{name}"));
        }
        visit::visit_expr_method_call(self, call);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let names: Vec<String> =
            path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        if let [.., of, name] = names.as_slice()
            && FOLLOW.iter().any(|(known, all)| known == of && all.contains(&name.as_str()))
            && let Some(last) = path.segments.last()
        {
            self.note(&last.ident, format!("{of}::{name}"));
        }
        visit::visit_path(self, path);
    }
}

/// Whether an argument is the text of a path in one of the fixed places: `"/proc/swaps"`,
/// `format!("/sys/block/{name}")`, `Path::new("/dev/loop-control")`.
fn is_fixed(argument: &syn::Expr) -> bool {
    let begins = |text: &str| FIXED.iter().any(|place| text.starts_with(place));
    match argument {
        syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(text), .. }) => begins(&text.value()),
        syn::Expr::Reference(reference) => is_fixed(&reference.expr),
        syn::Expr::Call(call) => call.args.len() == 1 && call.args.first().is_some_and(is_fixed),
        syn::Expr::Macro(macro_) if macro_.mac.path.is_ident("format") => {
            let text = macro_.mac.tokens.clone().into_iter().next();
            text.is_some_and(|text| begins(text.to_string().trim_start_matches('"')))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<(usize, String)> {
        follows(&SourceFile::parse("crates/a/src/b.rs".as_ref(), text.to_owned()).unwrap())
    }

    #[test]
    fn what_follows_a_path_is_found_and_that_of_tests_is_not() {
        let text = "fn f() { std::fs::write(a, b); fs::metadata(a); File::create(a); }\n\
                    #[cfg(test)]\nmod tests { fn g() { std::fs::remove_dir_all(a); } }\n\
                    fn h() { let r = std::fs::rename; }\n";
        let expected =
            [(1, "fs::write"), (1, "fs::metadata"), (1, "File::create"), (4, "fs::rename")];
        assert_eq!(found(text), expected.map(|(line, what)| (line, what.to_owned())));
        let file = SourceFile::parse("crates/a/src/b.rs".as_ref(), text.to_owned()).unwrap();
        let one = Crate { name: "a".to_owned(), folder: "crates/a".into(), files: vec![file] };
        let problems = check(&[one]).unwrap();
        assert!(problems[0].starts_with("crates/a/src/b.rs:1: fs::write"), "{problems:?}");
    }

    #[test]
    fn methods_mounts_and_working_directories_count() {
        let what = |text: &str| {
            let found = found(&format!("fn f() {{ {text} }}"));
            found.into_iter().map(|(_, what)| what).collect::<Vec<_>>()
        };
        assert_eq!(what("path.canonicalize()"), [".canonicalize"]);
        assert_eq!(what("a.join(b).symlink_metadata()?"), [".symlink_metadata"]);
        assert_eq!(what("std::fs::read_link(path)"), ["fs::read_link"]);
        assert_eq!(what("Command::new(a).current_dir(b)"), [".current_dir"]);
        assert_eq!(what("mount(a, b, c)"), ["mount"]);
        assert_eq!(what("rustix::mount::unmount(a, b)"), ["mount::unmount"]);
        assert_eq!(what("rustix::fs::openat(rustix::fs::CWD, a)"), ["fs::CWD"]);
        assert_eq!(what("g(a, |b| std::fs::create_dir_all(b))"), ["fs::create_dir_all"]);
        // A descriptor's, a list's, a file type's.
        for text in ["held.metadata()", "list.read(a)", "env::current_dir()", "kind.is_dir()"] {
            assert_eq!(what(text), [] as [&str; 0], "{text}");
        }
    }

    #[test]
    fn the_places_of_the_kernel_are_fixed() {
        let nothing = [
            "fs::read(\"/proc/swaps\")",
            "File::open(&format!(\"/sys/block/{name}\"))",
            "Path::new(\"/dev/loop-control\").exists()",
        ];
        for text in nothing {
            assert!(found(&format!("fn f() {{ {text}; }}")).is_empty(), "{text}");
        }
        let inside =
            "fn f() { fs::read(\"/tmp/a\"); fs::read_dir(\"/proc/\").map(|a| fs::read(a)) }";
        assert_eq!(found(inside).len(), 2);
    }
}
