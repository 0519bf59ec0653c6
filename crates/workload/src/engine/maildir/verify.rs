//! Reading everything back: every delivered mail is there, once, byte by byte.

use std::os::fd::BorrowedFd;

use super::plan::Plan;
use super::retrieve::Stored;
use crate::Failure;
use crate::corpora::MailCorpus;
use crate::engine::file_io::{holds, list};
use crate::engine::path_buffer::PathBuffer;

/// Compares each delivery of `plan` with its mail, then counts: as many mails in the
/// maildirs as were found and delivered, none in `tmp`. Not for use within a clock.
pub(crate) fn verify(
    plan: &Plan,
    stored: Stored<'_>,
    target: BorrowedFd<'_>,
    corpus: &MailCorpus,
) -> Result<(), Failure> {
    let wrong = |what: String| Err(Failure::Verify(what));
    let mut path = PathBuffer::new();
    for (delivery, (mail, _)) in plan.deliveries.iter().enumerate() {
        let number = stored.found.len() + delivery as u32;
        stored.path(number, plan.is_seen(number), &mut path);
        match holds(target, path.c_str(), corpus.mail(*mail as usize % corpus.len())) {
            Ok(true) => {}
            Ok(false) => return wrong(format!("{path} has other contents than delivered")),
            Err(error) => return wrong(format!("{path} was delivered but: {error}")),
        }
    }
    let expected = u64::from(stored.found.len()) + plan.deliveries.len() as u64;
    let (mut mails, mut unfinished) = (0, 0);
    for maildir in 0..stored.tree.maildirs {
        for part in ["/new", "/cur", "/tmp"] {
            stored.tree.maildir(maildir, &mut path);
            path.text(part);
            match list(target, path.c_str(), |_| {}) {
                Ok(found) if part == "/tmp" => unfinished += found,
                Ok(found) => mails += found,
                Err(error) => return wrong(format!("{path}: {error}")),
            }
        }
    }
    if mails != expected || unfinished > 0 {
        return wrong(format!(
            "{mails} mails in the maildirs and {unfinished} in tmp, {expected} and 0 expected"
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::fd::AsFd;
    use std::path::PathBuf;

    use super::super::deliver::{Courier, Manner, Source};
    use super::super::inventory::Inventory;
    use super::super::names::{Names, Tree};
    use super::super::parameters::Pool;
    use super::super::plan::Terms;
    use super::*;
    use crate::Seed;
    use crate::corpora::synthetic;
    use crate::engine::file_io::open_target;

    #[test]
    fn whatever_is_wrong_with_the_mails_is_found() {
        let dir = tempfile::tempdir().unwrap();
        let corpus = MailCorpus::open(&synthetic::ensure(dir.path(), 5, 1).unwrap()).unwrap();
        let opened = open_target(dir.path()).unwrap();
        let target = opened.as_fd();
        let tree = Tree { maildirs: 3, per_base: 2 };
        for maildir in ["000/00", "000/01", "001/00"] {
            for part in ["tmp", "new", "cur"] {
                fs::create_dir_all(dir.path().join("maildirs").join(maildir).join(part)).unwrap();
            }
        }
        let terms = Terms {
            ops: 12,
            write_share: 1.0,
            tree,
            mails: 9,
            pool: Pool::ReadSrc,
            pool_mails: 1,
            found: 0,
            mark_seen: false,
        };
        let plan = Plan::draw(Seed(1), terms);
        let (names, found) = (Names::new(Seed(1), 0), Inventory::default());
        let stored = Stored { tree, names, found: &found, deliveries: &plan.deliveries };
        let mut courier = Courier::new(target, tree, names, Source::Memory(&corpus), Manner::PLAIN);
        for (number, (mail, maildir)) in plan.deliveries.iter().enumerate() {
            courier.deliver(number as u64, *mail, *maildir).unwrap();
        }
        let verdict = || verify(&plan, stored, target, &corpus).map_err(|error| error.to_string());
        assert_eq!(verdict(), Ok(()));

        let mut path = PathBuffer::new();
        stored.path(7, false, &mut path);
        let mail = dir.path().join(PathBuf::from(path.to_string()));
        let whole = fs::read(&mail).unwrap();
        let mut changed = whole.clone();
        changed[100] ^= 1;
        fs::write(&mail, changed).unwrap();
        assert!(verdict().unwrap_err().contains("other contents than delivered"));
        fs::write(&mail, &whole[..whole.len() - 1]).unwrap();
        assert!(verdict().unwrap_err().contains("other contents than delivered"));
        fs::remove_file(&mail).unwrap();
        assert!(verdict().unwrap_err().contains("was delivered but: No such file"));
        fs::write(&mail, &whole).unwrap();
        assert_eq!(verdict(), Ok(()));

        for (extra, message) in [
            ("new/twice", "13 mails in the maildirs and 0 in tmp, 12"),
            ("tmp/half", "12 mails in the maildirs and 1 in tmp"),
        ] {
            let extra = dir.path().join("maildirs/001/00").join(extra);
            fs::write(&extra, "x").unwrap();
            assert!(verdict().unwrap_err().contains(message), "{:?}", verdict());
            fs::remove_file(&extra).unwrap();
        }
    }
}
