//! What a model's parts say of each other: sets, targets, descriptors.

use super::kinds::Does;
use super::text::Named;
use super::{DESCRIPTORS, Flowop, Model, Problem, Target, Thread};

/// The most threads, as elsewhere.
const THREADS_MAX: u64 = 1024;
/// Largest buffer of one thread.
const BUFFER_MAX: u64 = 64 << 20;

/// The model with the places of sets and targets in place of their names.
pub(super) fn resolved(named: Named) -> Result<Model, Problem> {
    let Named { mut model, set_names } = named;
    if model.threads.is_empty() {
        return Err(Problem::at(1, "it defines no process, so that nothing would be done"));
    }
    let threads = model.thread_count();
    if !(1..=THREADS_MAX).contains(&threads) {
        let line = model.threads[0].line;
        let what = format!("all instances together are {threads} threads, not 1 to {THREADS_MAX}");
        return Err(Problem::at(line, what));
    }
    let sets: Vec<String> = model.sets.iter().map(|set| set.name.clone()).collect();
    for (thread, names) in model.threads.iter_mut().zip(set_names) {
        for (flowop, name) in thread.list.iter_mut().zip(names) {
            let Some(name) = name else { continue };
            let at = sets.iter().position(|known| *known == name);
            flowop.set = Some(at.ok_or_else(|| {
                let meant = text::meant(&name, sets.iter().map(String::as_str));
                let meant = meant.unwrap_or_else(|| "the model defines none".to_owned());
                Problem::at(flowop.line, format!("there is no fileset {name}; {meant}"))
            })?);
        }
    }
    targets(&mut model)?;
    for thread in &model.threads {
        thread.list.iter().try_for_each(check)?;
        descriptors(thread)?;
    }
    Ok(model)
}

/// Replaces names of targets by their places.
fn targets(model: &mut Model) -> Result<(), Problem> {
    let named: Vec<Vec<(String, Does)>> = model
        .threads
        .iter()
        .map(|thread| thread.list.iter().map(|it| (it.name.clone(), it.does)).collect())
        .collect();
    for (number, thread) in model.threads.iter_mut().enumerate() {
        for flowop in &mut thread.list {
            if let Target::Named(name) = flowop.target.clone() {
                let found = target(flowop.does, &name, number, &named);
                flowop.target = found.map_err(|what| {
                    Problem::at(flowop.line, format!("{}: {what}", flowop.does.word()))
                })?;
            }
        }
    }
    Ok(())
}

/// The target of this name of a flowop in the list of thread `number`.
fn target(
    does: Does,
    name: &str,
    number: usize,
    named: &[Vec<(String, Does)>],
) -> Result<Target, String> {
    match does {
        Does::SemPost => {
            let mut all = Vec::new();
            for (thread, list) in named.iter().enumerate() {
                for (place, (known, kind)) in list.iter().enumerate() {
                    if known == name && *kind == Does::SemBlock {
                        all.push((thread, place));
                    }
                }
            }
            match all.is_empty() {
                true => Err(format!("there is no semblock {name}")),
                false => Ok(Target::Everywhere(all)),
            }
        }
        Does::BandwidthLimit
        | Does::IopsLimit
        | Does::OpsLimit
        | Does::FinishOnCount
        | Does::FinishOnBytes => {
            let at = named[number].iter().position(|(known, _)| known == name);
            let at =
                at.ok_or_else(|| format!("there is no flowop {name} in this thread's list"))?;
            let counts_io = !matches!(does, Does::OpsLimit | Does::FinishOnCount);
            if counts_io && !named[number][at].1.moves_data() {
                return Err(format!("flowop {name} neither reads nor writes"));
            }
            Ok(Target::Here(at))
        }
        _ => Err("it takes no target".to_owned()),
    }
}

fn check(flowop: &Flowop) -> Result<(), Problem> {
    let wrong = |what: String| {
        Err(Problem::at(flowop.line, format!("flowop {} ({what})", flowop.does.word())))
    };
    let needs_size = matches!(
        flowop.does,
        Does::Read | Does::Write | Does::AioWrite | Does::Append | Does::AppendRandom
    );
    if needs_size && flowop.iosize.large() == 0 {
        return wrong("it needs an iosize above 0".to_owned());
    }
    if flowop.iosize.large() > BUFFER_MAX {
        return wrong("its iosize is above 64 MiB".to_owned());
    }
    let needs_set = matches!(flowop.does, Does::Open | Does::Create | Does::List | Does::FsyncSet)
        || matches!(flowop.does, Does::Delete | Does::Stat) && flowop.fd == 0;
    if needs_set && flowop.set.is_none() {
        return wrong("it needs a filesetname".to_owned());
    }
    if flowop.does == Does::AioWrite && !flowop.random {
        return wrong("Filebench knows it with `random` only".to_owned());
    }
    if flowop.does == Does::SemPost && flowop.target == Target::None {
        return wrong("it needs a target, the name of a semblock".to_owned());
    }
    if matches!(flowop.does, Does::SemBlock | Does::SemPost) && flowop.value.fixed().is_none() {
        return wrong("its value has to be a number that stays the same".to_owned());
    }
    if flowop.opennext && !flowop.does.moves_data() {
        return wrong("opennext goes with flowops that read or write".to_owned());
    }
    if flowop.iters.large() == 0 {
        return wrong("iters=0".to_owned());
    }
    Ok(())
}

/// Follows a list twice: which descriptors are open before each flowop. Filebench stops with an
/// error where one is opened that is open, or used that is not.
fn descriptors(thread: &Thread) -> Result<(), Problem> {
    let mut open: [Option<&str>; DESCRIPTORS] = [None; DESCRIPTORS];
    for flowop in thread.list.iter().chain(&thread.list) {
        let (word, fd) = (flowop.does.word(), flowop.fd);
        let before = open[fd];
        let wrong = |what: String| Err(Problem::at(flowop.line, format!("{word}: {what}")));
        let lacks_set = flowop.set.is_none();
        match flowop.does {
            Does::Open | Does::Create => {
                if let Some(other) = before {
                    let what = format!("fd={fd} is still open, by {other}; a closefile is missing");
                    return wrong(what);
                }
                open[fd] = Some(&flowop.name);
            }
            Does::Close | Does::Fsync if before.is_none() => {
                return wrong(format!("fd={fd} is not open here"));
            }
            Does::Close => open[fd] = None,
            Does::WriteWhole if flowop.srcfd > 0 && open[flowop.srcfd].is_none() => {
                return wrong(format!("srcfd={} is not open here", flowop.srcfd));
            }
            does if does.moves_data() => {
                let is_open = before.is_some() && !flowop.opennext;
                if !is_open && lacks_set {
                    return wrong(format!(
                        "fd={fd} is not open here, and no filesetname says which file to open"
                    ));
                }
                if !flowop.opennext {
                    open[fd] = before.or(Some(&flowop.name));
                }
            }
            Does::Delete | Does::Stat if before.is_none() && lacks_set => {
                return wrong("it needs a filesetname".to_owned());
            }
            _ => {}
        }
    }
    Ok(())
}
