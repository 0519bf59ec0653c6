//! Every driver with its defaults, on the smallest disk it takes and on one for a thousand
//! fsyncs.

use stack::{Contender, FILESYSTEMS};
use testbed::Stop;
use units::Bytes;

use crate::{Labs, carry_out, each, spec};

/// A thousand fsyncs.
const WORK: &str = "varmail:files=1000:preallocated=0.9:threads=2:loops=60:mean_size=4K";

/// ZFS runs short of memory at it, so that Linux looks for pages to give back: which ones those
/// are had once followed the host's load, in one of two trials on a busy host.
pub(crate) fn a_busy_host_changes_no_request(labs: &Labs) {
    let spec = spec("zfs", WORK, Bytes::from_mib(512));
    let result = lab::verify(&labs.mail, &spec, 5, &Stop::new(), &|_, _| {}).expect("guests start");
    assert_eq!(result.first_difference(), None);
}

/// Makes, mounts, writes a thousand files with fsync, unmounts and checks each; twice, with
/// equal results; and once more on a disk of the smallest size it takes. (What mkfs is told is
/// written down in the catalogue's tests.)
pub(crate) fn every_driver(labs: &Labs) {
    let lab = &labs.mail;
    let names: Vec<&str> = FILESYSTEMS
        .iter()
        .map(|filesystem| filesystem.describe())
        .filter(|description| description.needs_device)
        .filter(|description| match lab.offer().refusal(description.name, description) {
            None => true,
            Some(refusal) => {
                println!("skipped: {refusal}");
                false
            }
        })
        .map(|description| description.name)
        .collect();
    let size = Bytes::from_mib(512);
    let work = WORK;
    let twice: Vec<_> = names.iter().flat_map(|name| [*name, *name]).collect();
    let seen = each(&twice, |name| carry_out(lab, name, work, size).expect_done());
    for pair in seen.chunks(2) {
        assert_eq!(pair[0].phases, pair[1].phases, "{}", pair[0].name);
        assert_eq!(pair[0].digest, pair[1].digest, "{}", pair[0].name);
        // Nine in ten of a thousand places, drawn from the seed: the same for every filesystem.
        let create = pair[0].phases.iter().find(|(phase, ..)| phase == "create");
        assert_eq!(
            create.map(|(_, _, ops)| *ops),
            Some(898),
            "{}: {:?}",
            pair[0].name,
            pair[0].phases
        );
    }

    each(&names, |name| {
        let contender = Contender::plain(name);
        let filesystem = stack::filesystems::find(name).expect("it was listed");
        let least = filesystem.minimum_size(&contender).expect("its defaults are its own");
        let smallest = carry_out(lab, name, "null:ops=10", least);
        assert!(smallest.outcome.is_done(), "{name} on {least}: {}", smallest.outcome);
    });
}
