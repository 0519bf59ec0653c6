//! Turns a study into requests to the runner: one for each part and assumption.

use std::collections::BTreeMap;

use runner::{Request, StudyTag, TestbedRequest};
use stack::Contender;
use trial::TrialSpec;
use units::Nanos;
use workload::{Parameters, Seed};

use crate::only::{Names, Only};
use crate::{Assumption, NamedWorkload, Part, Study};

/// The options of a command that override the study's own settings.
#[derive(Debug, Clone, Default)]
pub struct Wishes {
    /// Shares of the published size; the study's own scale where there is none.
    pub sizes: Vec<f64>,
    /// Number of seeds, instead of the study's.
    pub seeds: Option<u32>,
    /// Number of seeds under each assumption, if it differs.
    pub assumption_seeds: Option<u32>,
    /// The seed that all others derive from.
    pub seed: u64,
    /// Names of parts, contenders, workloads and assumptions: nothing else runs. Of a kind that is
    /// not named, everything runs.
    pub only: Vec<String>,
    /// Whether assumptions are tried.
    pub assumptions: bool,
    /// How long a trial may take before it is given up.
    pub timeout: Nanos,
}

/// A run that is to be created in the store.
#[derive(Debug, Clone)]
pub struct Planned {
    /// The request to the runner: the whole part, so that disks have the same size no matter what
    /// is left out.
    pub request: Request,
    contenders: Vec<String>,
    /// The workloads to run: for a sequence those up to the last one wanted.
    workloads: Vec<(String, Parameters)>,
}

impl Planned {
    /// The contenders that run.
    pub fn contenders(&self) -> impl Iterator<Item = &Contender> {
        self.request.contenders.iter().filter(|known| self.contenders.contains(&known.name))
    }

    /// Names of the workloads that run.
    pub fn workloads(&self) -> impl Iterator<Item = &str> {
        self.workloads.iter().map(|(name, _)| name.as_str())
    }

    /// Whether a cell, named as in `part`, is among what runs.
    pub(crate) fn has(&self, contender: &str, part: &Part, workload: &str) -> bool {
        let runs = |known: &NamedWorkload| {
            let parameters = known.at_scale(self.request.scale);
            self.workloads.iter().any(|(name, values)| {
                *name == known.request.name && Some(values) == parameters.as_ref()
            })
        };
        let named = part.workloads.iter().find(|known| known.id == workload);
        self.contenders.iter().any(|known| known == contender) && named.is_some_and(runs)
    }

    /// Reduces a plan of the whole part to what runs.
    pub fn trimmed(&self, trials: Vec<TrialSpec>) -> Vec<TrialSpec> {
        let wanted = |name: &str, parameters: &Parameters| {
            self.workloads.iter().any(|(known, values)| known == name && values == parameters)
        };
        trials
            .into_iter()
            .filter(|spec| self.contenders.contains(&spec.contender.name))
            .filter_map(|mut spec| {
                if self.request.sequence {
                    spec.workloads.truncate(self.workloads.len());
                } else {
                    spec.workloads.retain(|choice| wanted(&choice.name, &choice.parameters));
                }
                (!spec.workloads.is_empty()).then_some(spec)
            })
            .collect()
    }
}

/// Where a part of a study runs when its machine is changed, for its size or by an assumption.
pub type Place<'a> =
    dyn Fn(&Part, &BTreeMap<String, String>) -> Result<TestbedRequest, String> + 'a;

/// Every run of a study. `place` gives the testbed on which a part runs under an assumption.
///
/// # Errors
/// When `place` fails, or `only` names something that does not exist, or leaves nothing to run.
pub fn matrix(
    study: &Study,
    named: &str,
    group: &str,
    wishes: &Wishes,
    place: &Place<'_>,
) -> Result<Vec<Planned>, String> {
    let only = Only::of(study, &wishes.only)?;
    let mut sizes: Vec<Option<f64>> = Vec::new();
    for size in &wishes.sizes {
        // A requested size that equals the study's own scale is the study's own size.
        let own = |part: &Part| study.scale_of(part, Some(*size)) == study.scale_of(part, None);
        let size = (!study.parts.iter().all(own)).then_some(*size);
        if !sizes.contains(&size) {
            sizes.push(size);
        }
    }
    if sizes.is_empty() {
        sizes.push(None);
    }
    sizes.sort_by(|a, b| a.unwrap_or(study.scale).total_cmp(&b.unwrap_or(study.scale)));
    let mut planned = Vec::new();
    for size in sizes {
        for part in study.parts.iter().filter(|part| only.parts.takes(&part.id)) {
            let tag = StudyTag {
                study: named.to_owned(),
                group: group.to_owned(),
                part: part.id.clone(),
                assumption: None,
                size,
                look: 0,
                machine: String::new(),
                digest: study.digest.clone(),
            };
            planned.extend(of_part(study, part, &tag, wishes, &only, place)?);
        }
    }
    if planned.is_empty() {
        return Err(format!("--only {} leaves nothing to run", wishes.only.join(",")));
    }
    Ok(planned)
}

/// A part at one size, on the study's own machine and under each assumption.
fn of_part(
    study: &Study,
    part: &Part,
    tag: &StudyTag,
    wishes: &Wishes,
    only: &Only,
    place: &Place<'_>,
) -> Result<Vec<Planned>, String> {
    let contenders: Vec<String> = part
        .contenders
        .iter()
        .map(|known| known.contender.name.clone())
        .filter(|name| only.contenders.takes(name))
        .collect();
    let scale = study.scale_of(part, tag.size);
    // A part's `size` has room for its own scale; at a larger scale it is only the minimum,
    // unless the study says that it is fixed.
    let larger = scale > study.scale_of(part, None) && !part.fixed_size;
    let workloads = wanted_workloads(part, &only.workloads, scale)?;
    if contenders.is_empty() || workloads.is_empty() {
        return Ok(Vec::new());
    }
    let tried: Vec<&Assumption> = study
        .assumptions_of(&part.id)
        .filter(|it| wishes.assumptions && only.assumptions.takes(&it.id))
        .collect();
    let none = (!only.assumptions.is_named()).then_some(None);
    let of = |assumption: Option<&Assumption>| {
        let mut changes = study.changes_at(part, tag.size);
        changes.extend(assumption.map(|it| it.changes.clone()).unwrap_or_default());
        let id = assumption.map(|it| it.id.clone());
        let digest = assumption.map_or(&study.digest, |it| &it.digest).clone();
        let under = assumption.and(wishes.assumption_seeds);
        Ok(Planned {
            contenders: contenders.clone(),
            workloads: workloads.clone(),
            request: Request {
                workloads: part.workloads.iter().map(|known| known.request.clone()).collect(),
                contenders: contenders_of(part, assumption),
                testbed: place(part, &changes)?,
                repeats: under.or(wishes.seeds).unwrap_or(study.seeds),
                until: None,
                seed: seed_of(wishes.seed, id.as_deref()),
                scale,
                verify: false,
                sequence: part.sequence,
                size: part.size.filter(|_| !larger),
                least_size: part.size.filter(|_| larger),
                timeout: wishes.timeout,
                mail: part.mail.clone().unwrap_or_else(|| "synthetic".to_owned()),
                source_tree: part.source_tree.clone().unwrap_or_else(|| "synthetic".to_owned()),
                study: Some(StudyTag { assumption: id, digest, ..tag.clone() }),
            },
        })
    };
    none.into_iter().chain(tried.into_iter().map(Some)).map(of).collect()
}

/// A part's contenders, those of the assumption in place of the part's own.
fn contenders_of(part: &Part, assumption: Option<&Assumption>) -> Vec<Contender> {
    let made = |name: &str| {
        let changed = assumption.into_iter().flat_map(|it| &it.contenders);
        changed.map(|it| &it.contender).find(|it| it.name == name)
    };
    let own = part.contenders.iter().map(|it| &it.contender);
    own.map(|own| made(&own.name).unwrap_or(own).clone()).collect()
}

/// Parts share seeds, so that figures of two parts can be paired; every assumption has
/// seeds of its own.
fn seed_of(seed: u64, assumption: Option<&str>) -> u64 {
    assumption.map_or(seed, |id| Seed(seed).derive(&format!("assumption {id}")).0)
}

fn wanted_workloads(
    part: &Part,
    only: &Names,
    scale: f64,
) -> Result<Vec<(String, Parameters)>, String> {
    let wanted: Vec<bool> = part.workloads.iter().map(|known| only.takes(&known.id)).collect();
    let last = wanted.iter().rposition(|wanted| *wanted);
    let mut found = Vec::new();
    for (at, known) in part.workloads.iter().enumerate() {
        let runs = if part.sequence { Some(at) <= last && last.is_some() } else { wanted[at] };
        let Some(workload) = workload::find(&known.request.name).filter(|_| runs) else { continue };
        let given = &known.request.parameters;
        let parameters = Parameters::resolve(workload.describe(), given, scale)
            .map_err(|error| format!("at scale {scale}: {error}"))?;
        found.push((known.request.name.clone(), parameters));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use units::Bytes;

    use super::*;
    use crate::{Source, load};

    fn planned(study: &str, wishes: &Wishes) -> Vec<Planned> {
        let study = load(&Source::find(study).unwrap()).unwrap();
        let place = |_: &Part, _: &BTreeMap<String, String>| {
            let settings = BTreeMap::from([("profile", "ideal")]);
            TestbedRequest::new("lab", &settings).map_err(|error| error.to_string())
        };
        matrix(&study, &study.name, "group", wishes, &place).unwrap()
    }

    #[test]
    fn disks_have_room_for_a_larger_scale_than_the_studys_own() {
        let sizes = |sizes: Vec<f64>| {
            let plan = planned("video-2011", &Wishes { sizes, ..Wishes::default() });
            (plan[0].request.size, plan[0].request.least_size)
        };
        let own = sizes(Vec::new());
        assert!(own.0.is_some() && own.1.is_none());
        assert_eq!(sizes(vec![0.01]), own);
        assert_eq!(sizes(vec![1.0]), (None, own.0));
        let wishes = Wishes { sizes: vec![1.0], ..Wishes::default() };
        let partition = planned("boot-2005", &wishes)[0].request.size;
        assert_eq!(partition, Some(Bytes::from_mib(4096)), "fixed");
    }

    #[test]
    fn a_name_that_a_part_shares_with_its_workload_means_the_part() {
        let only = ["bonnie", "mongo-1000"].map(str::to_owned).to_vec();
        let plan = planned("seminar-2001", &Wishes { only, ..Wishes::default() });
        let parts: Vec<_> =
            plan.iter().map(|it| it.request.study.as_ref().unwrap().part.as_str()).collect();
        assert_eq!(parts, ["bonnie", "mongo-1000"]);
    }

    #[test]
    fn a_larger_size_has_the_machine_that_the_study_gives_it() {
        let study = load(&Source::find("seminar-2001").unwrap()).unwrap();
        let asked = std::cell::RefCell::new(Vec::new());
        let place = |part: &Part, changes: &BTreeMap<String, String>| {
            let of = |key: &str| changes.get(key).map_or("-", String::as_str).to_owned();
            asked.borrow_mut().push(format!(
                "{} {} {}",
                part.id,
                of("available"),
                of("instruction_ns")
            ));
            let settings = BTreeMap::from([("profile", "ideal")]);
            TestbedRequest::new("lab", &settings).map_err(|error| error.to_string())
        };
        let wishes = Wishes {
            sizes: vec![0.1, 1.0],
            only: vec!["files".to_owned()],
            assumptions: true,
            ..Wishes::default()
        };
        matrix(&study, &study.name, "group", &wishes, &place).unwrap();
        assert_eq!(*asked.borrow(), ["files - -", "files - 32", "files 64M -", "files 64M 32"]);
    }

    #[test]
    fn assumptions_may_have_another_number_of_seeds() {
        let repeats = |assumption_seeds| {
            let wishes =
                Wishes { assumptions: true, seeds: Some(4), assumption_seeds, ..Wishes::default() };
            let plan = planned("video-2011", &wishes);
            let of = |own: bool| {
                let tag = |it: &&Planned| it.request.study.as_ref().unwrap().assumption.is_none();
                plan.iter().find(|it| tag(it) == own).unwrap().request.repeats
            };
            (of(true), of(false))
        };
        assert_eq!(repeats(None), (4, 4));
        assert_eq!(repeats(Some(1)), (4, 1));
    }

    #[test]
    fn an_assumption_s_contender_replaces_the_one_of_its_name() {
        let wishes = Wishes { assumptions: true, ..Wishes::default() };
        let plan = planned("video-2011", &wishes);
        let of = |assumption: Option<&str>| {
            let tag = |it: &&Planned| {
                it.request.study.as_ref().unwrap().assumption.as_deref() == assumption
            };
            let contenders = &plan.iter().find(tag).unwrap().request.contenders;
            contenders.iter().map(|it| (it.name.clone(), it.options.clone())).collect::<Vec<_>>()
        };
        let (own, assumed) = (of(None), of(Some("told-geometry")));
        let changed: Vec<&str> = own
            .iter()
            .zip(&assumed)
            .inspect(|(own, assumed)| assert_eq!(own.0, assumed.0))
            .filter(|(own, assumed)| own.1 != assumed.1)
            .map(|(own, _)| own.0.as_str())
            .collect();
        assert_eq!(changed, ["ext4", "ext4nb", "xfs"]);
        assert_eq!(of(Some("slow-cpu")), own);
    }

    #[test]
    fn a_ladder_is_planned_from_its_smallest_size_and_the_studys_own_is_one_of_them() {
        let sizes = vec![1.0, 0.03, 0.1, 0.1];
        let only = vec!["single".to_owned()];
        let plan = planned("maildir-2004", &Wishes { sizes, only, ..Wishes::default() });
        let tags =
            plan.iter().map(|it| (it.request.study.as_ref().unwrap().size, it.request.scale));
        let tags: Vec<_> = tags.collect();
        assert_eq!(tags, [(None, 0.03), (Some(0.1), 0.1), (Some(1.0), 1.0)]);
    }

    #[test]
    fn what_runs_is_what_only_leaves() {
        let only = ["zfs/int/hw", "postmark-1"].map(str::to_owned).to_vec();
        let plan = planned("zfs-2007", &Wishes { only, ..Wishes::default() });
        assert_eq!(plan.len(), 1);
        let names: Vec<_> = plan[0].contenders().map(|it| it.name.as_str()).collect();
        assert_eq!(names, ["zfs/int/hw"]);
        assert_eq!(plan[0].request.contenders.len(), 12);
        assert!(plan[0].workloads().any(|name| name == "postmark"));
        assert!(plan[0].workloads().all(|name| name != "ffsb"));
    }
}
