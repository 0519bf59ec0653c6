//! What ships as tried is what is found when it is tried again.

use stack::Contender;
use testbed::Stop;
use trial::capabilities::{Finding, Tried};

use crate::{Labs, each};

/// Three that differ in nearly everything.
const AGAIN: [&str; 3] = ["ext4", "btrfs", "jfs"];

pub(crate) fn what_ships_is_found_again(labs: &Labs) {
    let shipped = Tried::shipped().expect("it is of its form");
    let found = each(&AGAIN, |name| {
        let tried = labs.mail.try_capabilities(&Contender::plain(name), &Stop::new());
        tried.unwrap_or_else(|error| panic!("{name}: {error}"))
    });
    // In what words something is refused is the tools' affair.
    let kind = |(name, finding): (&String, &Finding)| match finding {
        Finding::No(_) => (name.clone(), "no".to_owned()),
        other => (name.clone(), other.to_string()),
    };
    for tried in found {
        let row = shipped.filesystems.iter().find(|row| row.name == tried.name);
        let row = row.unwrap_or_else(|| panic!("{} is not in tried.toml", tried.name));
        let (now, then): (Vec<_>, Vec<_>) =
            (tried.found.iter().map(kind).collect(), row.found.iter().map(kind).collect());
        assert_eq!(now, then, "{}: {:?}", tried.name, tried.untried);
    }
}
