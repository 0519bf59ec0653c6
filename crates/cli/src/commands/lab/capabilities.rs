//! `fstrial lab capabilities`: tests what each filesystem can do.

use std::collections::BTreeMap;

use stack::{Contender, FILESYSTEMS};
use testbed::Stop;
use trial::InputFiles;
use trial::capabilities::Tried;

use crate::arguments::LabCapabilities;
use crate::commands::list::capabilities;
use crate::exit::{Ended, Exit, Failure};
use crate::output::{print, say};

/// Tries and prints.
pub(super) fn try_them(name: Option<&str>, arguments: &LabCapabilities) -> Ended {
    let lab =
        super::open(name, &arguments.profile, None, &BTreeMap::new(), &InputFiles::default())?;
    let contenders = match &arguments.fs {
        Some(list) => Contender::parse_list(list).map_err(Failure::from(Exit::Input))?,
        None => {
            let has = |description: &stack::filesystems::Description| {
                lab.offer().refusal(description.name, description).is_none()
            };
            let all = FILESYSTEMS.iter().map(|filesystem| filesystem.describe());
            all.filter(|one| has(one)).map(|one| Contender::plain(one.name)).collect()
        }
    };
    let mut tried = Tried { filesystems: Vec::new() };
    for contender in contenders {
        say!("trying {}", contender.name);
        let row = lab.try_capabilities(&contender, &Stop::new());
        tried.filesystems.push(row.map_err(Failure::from(Exit::SomeFailed))?);
    }
    if arguments.toml {
        let text = tried.written().map_err(|error| Failure::new(Exit::Output, error))?;
        print(&text)?;
    } else {
        print(&capabilities(&tried))?;
    }
    Ok(Exit::Done)
}
