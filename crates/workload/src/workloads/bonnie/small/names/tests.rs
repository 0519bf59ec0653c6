//! The names of small files, and their paths.

use super::*;
use crate::engine::path_buffer::PathBuffer;
use crate::workloads::bonnie::small::tests::small;

#[test]
fn names_have_the_shape_of_each_version() {
    for (manner, digits) in [(Manner::V103a, 7), (Manner::V200a, 10)] {
        for random in [false, true] {
            let files = small(manner, Links::None).draw(Seed(1), random);
            let mut longest = 0;
            for (number, file) in files.iter().enumerate() {
                let name = std::str::from_utf8(file.name()).unwrap();
                assert!((10..50).contains(&file.bytes));
                longest = longest.max(name.len());
                let counter = if random { &name[name.len() - digits..] } else { &name[..digits] };
                let radix = if digits == 10 { 16 } else { 10 };
                assert_eq!(usize::from_str_radix(counter, radix).unwrap(), number);
            }
            assert_eq!(longest, digits + 12);
        }
    }
    let (small, mut path) = (small(Manner::V200a, Links::None), PathBuffer::new());
    let files = small.draw(Seed(1), false);
    small.path(&files[256], &mut path);
    assert!(path.to_string().starts_with("00001/0000000100"), "{path}");
}
