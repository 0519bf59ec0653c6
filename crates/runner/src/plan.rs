//! From a request to trial specs in random blocks.

use std::collections::BTreeMap;

use trial::{TrialSpec, WorkloadChoice};
use units::Bytes;
use workload::{ParameterError, Parameters, Seed, UnknownWorkload};

use crate::{Request, WorkloadRequest};

/// The most trials of one run: weeks of work, and some hundred megabytes of plan.
const TRIALS_MAX: usize = 100_000;

/// Why there is no plan.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum PlanError {
    /// No such workload.
    #[error(transparent)]
    UnknownWorkload(#[from] UnknownWorkload),
    /// A parameter that does not exist or has no such value.
    #[error(transparent)]
    Parameter(#[from] ParameterError),
    /// Parameters that make no sense together, or a file that does not.
    #[error("{workload}: {problem}")]
    Workload {
        /// The workload.
        workload: &'static str,
        /// What is wrong and what is accepted.
        problem: String,
    },
    /// Nothing to do.
    #[error("{0}")]
    Empty(&'static str),
    /// More trials than a run may have.
    #[error(
        "{planned} trials are planned, a run has at most {TRIALS_MAX}; choose fewer --repeats, or \
         several runs"
    )]
    TooMany {
        /// How many.
        planned: usize,
    },
    /// A scale that is no positive number.
    #[error("--scale {0} is not a positive number")]
    Scale(f64),
}

/// The trials of a request in order of execution. Each block (repeat) holds every
/// contender × workload once, in an order of its own drawn from the seed, so that drift
/// affects all alike. Within a block all contenders do the same work: the seed of a trial
/// depends on its block alone.
///
/// # Errors
/// On an unknown workload or parameter, or an empty request.
pub fn plan(request: &Request, device_size: Option<Bytes>) -> Result<Vec<TrialSpec>, PlanError> {
    if request.workloads.is_empty() {
        return Err(PlanError::Empty("no workload is named; `fstrial list workloads` shows them"));
    }
    if request.contenders.is_empty() {
        return Err(PlanError::Empty("no filesystem is named; --fs takes a list"));
    }
    if request.repeats == 0 {
        return Err(PlanError::Empty("--repeats 0 measures nothing"));
    }
    if !(request.scale.is_finite() && request.scale > 0.0) {
        return Err(PlanError::Scale(request.scale));
    }
    let choices = request
        .workloads
        .iter()
        .map(|workload| choose(workload, request.scale))
        .collect::<Result<Vec<_>, _>>()?;
    let groups: Vec<Vec<WorkloadChoice>> = if request.sequence {
        vec![choices]
    } else {
        choices.into_iter().map(|c| vec![c]).collect()
    };

    groups.iter().try_for_each(|group| complete(group))?;

    let planned =
        (groups.len() * request.contenders.len()).saturating_mul(request.repeats as usize);
    if planned > TRIALS_MAX {
        return Err(PlanError::TooMany { planned });
    }
    let run_seed = Seed(request.seed);
    let mut trials = Vec::new();
    for block in 0..request.repeats {
        let mut in_block: Vec<TrialSpec> = groups
            .iter()
            .flat_map(|workloads| {
                request.contenders.iter().map(move |contender| TrialSpec {
                    contender: contender.clone(),
                    workloads: workloads.clone(),
                    seed: run_seed.derive(&format!("block {block}")),
                    block,
                    size: device_size,
                    verify: request.verify,
                    timeout: request.timeout,
                })
            })
            .collect();
        run_seed.stream(&format!("order of block {block}")).shuffle(&mut in_block);
        trials.extend(in_block);
    }
    Ok(trials)
}

/// Checks that each workload of a sequence finds what it works on.
fn complete(group: &[WorkloadChoice]) -> Result<(), PlanError> {
    for (at, choice) in group.iter().enumerate() {
        let same = group[..at].iter().filter(|earlier| earlier.name == choice.name);
        let earlier: Vec<&Parameters> = same.map(|earlier| &earlier.parameters).collect();
        let workload = workload::named(&choice.name)?;
        if let Some(problem) = workload.lacks(&choice.parameters, &earlier) {
            return Err(PlanError::Workload { workload: workload.describe().name, problem });
        }
    }
    Ok(())
}

fn choose(request: &WorkloadRequest, scale: f64) -> Result<WorkloadChoice, PlanError> {
    let workload = workload::named(&request.name)?;
    let given: &BTreeMap<_, _> = &request.parameters;
    let parameters = Parameters::resolve(workload.describe(), given, scale)?;
    workload
        .check(&parameters)
        .map_err(|problem| PlanError::Workload { workload: workload.describe().name, problem })?;
    Ok(WorkloadChoice { name: request.name.clone(), parameters })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{TestbedRequest, parse_workload};
    use stack::Contender;
    use units::Nanos;

    fn request(repeats: u32) -> Request {
        Request {
            workloads: vec![parse_workload("null:ops=1000").unwrap()],
            contenders: ["ext4", "tmpfs"].map(Contender::plain).to_vec(),
            testbed: TestbedRequest::new("dir", &BTreeMap::<String, String>::new()).unwrap(),
            repeats,
            until: None,
            seed: 7,
            scale: 0.5,
            verify: false,
            sequence: false,
            size: None,
            timeout: Nanos::from_secs(60),
            mail: "synthetic".to_owned(),
            source_tree: "synthetic".to_owned(),
            least_size: None,
            study: None,
        }
    }

    #[test]
    fn every_block_holds_every_contender_once_with_one_seed() {
        let trials = plan(&request(20), None).unwrap();
        assert_eq!(trials.len(), 40);
        let mut firsts = Vec::new();
        for block in trials.chunks(2) {
            assert_eq!(block[0].seed, block[1].seed);
            assert_ne!(block[0].contender.name, block[1].contender.name);
            firsts.push(block[0].contender.name.as_str());
        }
        assert!(firsts.contains(&"ext4") && firsts.contains(&"tmpfs"), "the order is random");
        let seeds: std::collections::BTreeSet<_> = trials.iter().map(|t| t.seed.0).collect();
        assert_eq!(seeds.len(), 20, "each block has a seed of its own");
        assert_eq!(trials, plan(&request(20), None).unwrap(), "and the seed determines it all");
        assert!(
            trials[0].workloads[0].parameters.iter().any(|given| given == ("ops", "500")),
            "scale applies"
        );
    }

    /// What a trial takes from the request, and what from the device it is given.
    #[test]
    fn a_trial_has_the_size_of_its_device_and_the_wishes_of_its_request() {
        let sizes = [None, Some(Bytes::from_gib(4))];
        for size in sizes {
            let mut request = request(2);
            // The testbed has turned this into the size of its devices already.
            request.size = Some(Bytes::from_mib(1));
            (request.verify, request.timeout) = (true, Nanos::from_secs(7));
            let trials = plan(&request, size).unwrap();
            assert_eq!(trials.len(), 4);
            for trial in &trials {
                assert_eq!((trial.size, trial.verify), (size, true));
                assert_eq!(trial.timeout, Nanos::from_secs(7));
            }
            let blocks: Vec<_> = trials.iter().map(|trial| trial.block).collect();
            assert_eq!(blocks, [0, 0, 1, 1]);
        }
    }

    /// In a sequence one trial does all workloads in their order; otherwise each has its own.
    #[test]
    fn a_sequence_is_one_trial() {
        let mut request = request(1);
        request.contenders.truncate(1);
        request.workloads.push(parse_workload("bigfile").unwrap());
        let names = |sequence: bool| {
            let request = Request { sequence, ..request.clone() };
            let trials = plan(&request, None).unwrap();
            let names = |trial: &TrialSpec| {
                trial.workloads.iter().map(|choice| choice.name.clone()).collect::<Vec<_>>()
            };
            let mut names: Vec<_> = trials.iter().map(names).collect();
            names.sort();
            names
        };
        assert_eq!(names(true), [["null", "bigfile"]]);
        assert_eq!(names(false), [["bigfile"], ["null"]]);
    }

    #[test]
    fn a_part_that_works_on_what_another_leaves_comes_after_it() {
        let planned = |sequence: bool, parts: &[&str]| {
            let workloads = parts.iter().map(|part| parse_workload(part).unwrap()).collect();
            let request = Request { workloads, sequence, ..request(1) };
            plan(&request, None).map(drop).map_err(|error| error.to_string())
        };
        let (first, second) = ("tree:phases=copy-archive+untar", "tree:phases=copy+find");
        assert_eq!(planned(true, &[first, "null", second]), Ok(()));
        let lacks = "tree: phases: copy needs what untar leaves; \
                     put tree:phases=copy-archive+untar before it in a --sequence";
        for (sequence, parts) in [
            (true, &[second, first][..]),
            (false, &[first, second]),
            (true, &[first, "tree:phases=remove", second]),
            (true, &["tree", second]),
        ] {
            assert_eq!(planned(sequence, parts), Err(lacks.to_owned()), "{parts:?}");
        }
        assert_eq!(planned(true, &["tree:remove=off", second]), Ok(()));
    }

    #[test]
    fn what_cannot_be_planned_says_why() {
        let with = |change: fn(&mut Request)| {
            let mut request = request(1);
            change(&mut request);
            plan(&request, None).unwrap_err().to_string()
        };
        assert!(
            with(|r| r.workloads[0].name = "nul".into()).contains("there is no workload `nul`")
        );
        assert!(with(|r| r.repeats = 0).contains("measures nothing"));
        assert!(with(|r| r.repeats = u32::MAX).contains("at most 100000"));
        // Three workloads on two filesystems.
        let many = with(|r| {
            r.workloads.extend(["bigfile", "mongo"].map(|name| parse_workload(name).unwrap()));
            r.repeats = 16_667;
        });
        assert!(many.starts_with("100002 trials are planned"), "{many}");
        for scale in [|r: &mut Request| r.scale = -1.0, |r: &mut Request| r.scale = 0.0] {
            assert!(with(scale).contains("not a positive number"));
        }
        assert!(with(|r| r.contenders.clear()).contains("--fs"));
    }
}
