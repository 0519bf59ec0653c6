//! Each format of one small run, as it was last read by a person. A change shows here first:
//! look at it, then accept it with `INSTA_UPDATE=always cargo test -p report`.

use report::{FORMATS, Options};
use trial::Step;

use crate::rendered;
use crate::synthetic::{Synthetic, fail, planted};

#[test]
fn every_format_reads_as_it_did() {
    let contenders = vec![
        planted("ext4", "ext4", 1.0, 0.02),
        planted("xfs", "xfs", 1.2, 0.02),
        planted("zfs", "zfs", 1.0, 0.02),
    ];
    let mut run = Synthetic { contenders, repeats: 3, latencies: 60, ..Synthetic::small() }.run();
    fail(&mut run, "zfs", Step::Mkfs, "zpool: not found");
    let mut settings = insta::Settings::clone_current();
    settings.set_prepend_module_to_snapshot(false);
    settings.bind(|| {
        for format in FORMATS {
            let text = rendered(format.name(), &run, Options::default());
            insta::assert_snapshot!(format.name(), text);
        }
        let full = Options { full: true, width: 80, ..Options::default() };
        insta::assert_snapshot!("terminal-full-at-80", rendered("terminal", &run, full));
    });
}
