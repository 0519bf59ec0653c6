//! What people name as a workload that is none, with what they probably mean.

use runner::{WorkloadRequest, parse_workload};

use crate::files::find_program;

/// Whether a workload has this name, so that no file is looked for.
pub(super) fn is_known(text: &str) -> bool {
    workload::find(text.split([':', '@']).next().unwrap_or_default()).is_some()
}

/// Refuses filesystems among workloads, and says how both are named.
pub(super) fn without_filesystems(texts: &[String]) -> Result<(), String> {
    let head = |text: &str| text.split([':', '@']).next().unwrap_or_default().to_owned();
    let is_filesystem = |text: &&String| stack::filesystems::find(&head(text)).is_some();
    let (filesystems, others): (Vec<&String>, Vec<&String>) = texts.iter().partition(is_filesystem);
    let known = others.iter().filter(|text| workload::find(&head(text)).is_some());
    if !filesystems.is_empty() && !others.is_empty() && known.count() == others.len() {
        let joined = |all: &[&String], by: &str| {
            all.iter().map(|text| text.as_str()).collect::<Vec<_>>().join(by)
        };
        let (filesystems, others) = (joined(&filesystems, ","), joined(&others, " "));
        return Err(format!(
            "filesystems come after --fs: fstrial run {others} --fs {filesystems}"
        ));
    }
    Ok(())
}

/// Refuses a workload that is named twice, whose trials could not be told apart.
pub(super) fn each_once(workloads: &[WorkloadRequest]) -> Result<(), String> {
    for (nth, one) in workloads.iter().enumerate() {
        let same = |other: &&WorkloadRequest| {
            (&other.name, &other.parameters) == (&one.name, &one.parameters)
        };
        if workloads[..nth].iter().any(|other| same(&other)) {
            return Err(format!(
                "{} is named twice with the same parameters; --repeats repeats it, --sequence runs \
                 it again on what it left",
                one.name
            ));
        }
    }
    Ok(())
}

/// Reads a workload as it is written on the command line.
///
/// # Errors
/// Where there is none of that name: what it is instead, and how to say that.
pub(super) fn workload(text: &str) -> Result<WorkloadRequest, String> {
    let head = text.split([':', '@']).next().unwrap_or_default();
    if workload::find(head).is_some() {
        return parse_workload(text);
    }
    if text.contains(',') && text.split(',').all(|part| workload::named(part).is_ok()) {
        return Err(format!(
            "workloads are separated by spaces: fstrial run {}",
            text.replace(',', " ")
        ));
    }
    if stack::filesystems::find(head).is_some() {
        let other = if head == "ext4" { "xfs" } else { "ext4" };
        return Err(format!(
            "`{head}` is a filesystem: name a workload, and the filesystem with --fs: \
             fstrial run postmark --fs {text},{other}"
        ));
    }
    if lab::PROFILES.iter().any(|(name, _)| *name == head) {
        return Err(format!(
            "`{head}` is a machine of the lab: name a workload, and the machine with --profile: \
             fstrial run postmark --profile {head}"
        ));
    }
    if head.contains('/') || std::path::Path::new(head).extension().is_some() {
        return Err(format!("{head}: there is no regular file and no workload of that name"));
    }
    let unknown = match workload::named(head) {
        Err(unknown) => unknown.to_string(),
        Ok(_) => return parse_workload(text),
    };
    if text == head && find_program(head).is_some() {
        return Err(format!("{unknown}; to run the program {head}: fstrial run -- {head} …"));
    }
    Err(unknown)
}

/// The answer to `run --kernel VERSION`.
pub(super) fn kernel(version: &str) -> String {
    format!(
        "--kernel {version}: a kernel belongs to a lab; build one and name it: fstrial lab build \
         --name linux-{version} --kernel-source {version}, then fstrial run … --lab \
         linux-{version}; fstrial lab list shows those that there are"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_workload_is_answered_with_how_to_say_it() {
        let said = |text: &str| workload(text).unwrap_err();
        assert!(said("tree,postmark").ends_with("fstrial run tree postmark"));
        assert!(said("ext4").ends_with("--fs ext4,xfs"), "{}", said("ext4"));
        let mixed =
            without_filesystems(&["ext4".to_owned(), "fsync-append".to_owned()]).unwrap_err();
        assert!(mixed.ends_with("fstrial run fsync-append --fs ext4"), "{mixed}");
        assert!(said("xfs").contains("--fs xfs,ext4"), "{}", said("xfs"));
        assert!(said("xfs:nobarrier").contains("--fs xfs:nobarrier"));
        assert!(said("laptop-nvme").contains("--profile laptop-nvme"));
        assert!(said("sh").contains("fstrial run -- sh"), "{}", said("sh"));
        assert!(said("postmrk").contains("did you mean `postmark`?"));
        assert!(workload("postmark:number=5").is_ok());
        assert!(kernel("6.1").contains("--kernel-source 6.1"));
    }
}
