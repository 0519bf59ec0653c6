//! What people name as a workload that is none, with what they probably mean.

use runner::{WorkloadRequest, parse_workload};

use crate::files::find_program;

/// Reads a workload as it is written on the command line.
///
/// # Errors
/// Where there is none of that name: what it is instead, and how to say that.
pub(super) fn workload(text: &str) -> Result<WorkloadRequest, String> {
    let head = text.split([':', '@']).next().unwrap_or_default();
    if workload::find(head).is_some() {
        return parse_workload(text);
    }
    if std::path::Path::new(text).extension().is_some_and(|kind| kind == "fio") {
        let parameters = [("job".to_owned(), text.to_owned())].into();
        return Ok(WorkloadRequest { name: "fio".to_owned(), parameters });
    }
    if stack::filesystems::find(head).is_some() {
        return Err(format!(
            "`{head}` is a filesystem: name a workload, and the filesystem with --fs: \
             fstrial run postmark --fs {text},ext4"
        ));
    }
    if lab::PROFILES.iter().any(|(name, _)| *name == head) {
        return Err(format!(
            "`{head}` is a machine of the lab: name a workload, and the machine with --profile: \
             fstrial run postmark --profile {head}"
        ));
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
        assert!(said("xfs").contains("--fs xfs,ext4"), "{}", said("xfs"));
        assert!(said("xfs:nobarrier").contains("--fs xfs:nobarrier"));
        assert!(said("laptop-nvme").contains("--profile laptop-nvme"));
        assert!(said("sh").contains("fstrial run -- sh"), "{}", said("sh"));
        assert!(said("postmrk").contains("did you mean `postmark`?"));
        assert!(workload("postmark:number=5").is_ok());
        assert!(kernel("6.1").contains("--kernel-source 6.1"));
    }
}
