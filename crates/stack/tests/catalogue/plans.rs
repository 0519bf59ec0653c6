//! The exact commands and mount options of every contender, held against a snapshot. After a
//! wanted change: `INSTA_UPDATE=always cargo test -p stack --test catalogue`, and read the diff.

use std::fmt::Write;

use units::Bytes;

use crate::contenders::{all, one, request};

/// The plan, a line a step.
fn steps(text: &str) -> Vec<String> {
    let contender = one(text);
    let filesystem = stack::filesystems::find(&contender.filesystem).unwrap();
    let plan = match filesystem.plan(&request(&contender, Bytes::from_gib(64))) {
        Err(refusal) => return vec![format!("refused  {refusal}")],
        Ok(plan) => plan,
    };
    let minimum = filesystem.minimum_size(&contender).unwrap();
    let mount = &plan.mount;
    let mut steps: Vec<_> = plan.make.iter().map(|command| format!("make     {command}")).collect();
    let options = mount.options.join(",");
    steps.push(format!("mount    -t {} {} {options}", mount.kernel_type, mount.source));
    steps.extend(plan.settle.iter().map(|settle| format!("settle   {settle:?}")));
    if let Some(attachment) = &plan.attachment {
        for command in [&attachment.detach, &attachment.attach, &attachment.remove] {
            steps.push(format!("attach   {command}"));
        }
        if let Some(service) = &attachment.service {
            for command in [&service.start, &service.mount, &service.unmount] {
                steps.push(format!("service  {command}"));
            }
        }
    }
    steps.extend(plan.check.iter().map(|command| format!("check    {command}")));
    steps.extend(plan.inspect.iter().map(|command| format!("inspect  {command}")));
    steps.push(format!("served   {}; {:?}; from {minimum}", plan.served_by, plan.durability));
    steps
}

/// The plan with defaults in full, of the others what differs from it.
fn rendered(text: &str) -> String {
    let filesystem = one(text).filesystem;
    let default = if text == filesystem { Vec::new() } else { steps(&filesystem) };
    let mut out = format!("{text}\n");
    for step in steps(text).iter().filter(|step| !default.contains(step)) {
        writeln!(out, "    {step}").unwrap();
    }
    out
}

#[test]
fn every_plan_is_as_written_down() {
    let plans: String = all().iter().map(|text| rendered(text)).collect();
    insta::assert_snapshot!(plans);
}
