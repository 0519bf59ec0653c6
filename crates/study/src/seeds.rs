//! Further seeds for an execution: in place of lost ones, asked for, or to decide what is open.

use runner::{Prepared, Request, Session, SessionError, StudyTag};
use trial::TrialSpec;

use crate::execution::{
    Added, Execution, Observer, Told, is_same_cell, stored_requests, stored_runs,
};
use crate::needs::{Need, lost, needs};
use crate::{NamedWorkload, Part, PartRun};

impl Execution<'_> {
    /// Puts further seeds into the store; returns how many trials.
    pub(crate) fn add(
        &self,
        session: &mut Session<'_>,
        why: Added,
        observer: Observer<'_>,
    ) -> Result<usize, SessionError> {
        let (mut room, mut added) = (self.trials_that_fit(), 0);
        self.each_called_for(session, why, &mut |session, mut prepared| {
            prepared.retain(|mut trials| {
                trials.truncate(room);
                trials
            });
            if prepared.trials.is_empty() {
                return Ok(());
            }
            room -= prepared.trials.len();
            added += prepared.trials.len();
            session.create(&prepared, &mut |event| observer(Told::Run(event)))?;
            Ok(())
        })?;
        Ok(added)
    }

    /// Calls `each` with the further trials of each cell, none of which is in the store.
    pub(crate) fn each_called_for(
        &self,
        session: &mut Session<'_>,
        why: Added,
        each: &mut dyn FnMut(&mut Session<'_>, Prepared) -> Result<(), SessionError>,
    ) -> Result<(), SessionError> {
        let runs = stored_runs(&session.store, &self.key)?;
        let mut seen: Vec<StudyTag> = Vec::new();
        for (_, request) in stored_requests(&session.store, &self.key)? {
            let Some(tag) = request.study.clone() else { continue };
            if seen.iter().any(|known| is_same_cell(known, &tag)) {
                continue;
            }
            let (study, assumption) = (self.study, tag.assumption.as_deref());
            let wanted = match (why, self.limits.until) {
                (Added::ToDecide, Some(half_width)) => {
                    needs(study, &runs, assumption, tag.size, half_width)
                }
                (Added::ToDecide, None) => Vec::new(),
                (Added::AskedFor, _) => self.asked_for(&runs, &tag, &request),
                (Added::InPlaceOfLost, _) => {
                    lost(study, &runs, assumption, tag.size, request.repeats as usize)
                }
            };
            seen.push(tag);
            if let Some(prepared) = self.further(session, &runs, request, &wanted, why)? {
                each(session, prepared)?;
            }
        }
        Ok(())
    }

    /// The chosen cells of a run, with the requested number of seeds.
    fn asked_for(&self, runs: &[PartRun], tag: &StudyTag, request: &Request) -> Vec<Need> {
        let under = self.limits.assumption_seeds.filter(|_| tag.assumption.is_some());
        let wanted = under.or(self.limits.seeds);
        let Some(seeds) = wanted.filter(|seeds| *seeds > request.repeats) else {
            return Vec::new();
        };
        let Some(part) = self.study.part(&tag.part) else { return Vec::new() };
        let of_cell = runs.iter().filter(|it| is_same_cell(&it.tag, tag));
        let own: Vec<&TrialSpec> =
            of_cell.flat_map(|it| &it.run.trials).map(|trial| &trial.spec).collect();
        let cells = request.contenders.iter().flat_map(|contender| {
            part.workloads.iter().map(move |workload| Need {
                part: part.id.clone(),
                contender: contender.name.clone(),
                workload: workload.id.clone(),
                seeds: seeds as usize,
            })
        });
        // What --only left out when the run was planned stays out.
        let is_run =
            |need: &Need| own.iter().any(|spec| is_wanted(need, part, spec, request.scale));
        let is_chosen = |need: &Need| {
            let Some(chosen) = self.chosen else { return true };
            chosen.iter().any(|one| {
                one.request.study.as_ref().is_some_and(|known| is_same_cell(known, tag))
                    && one.has(&need.contender, part, &need.workload)
            })
        };
        cells.filter(|need| is_run(need) && is_chosen(need)).collect()
    }

    /// The trials of a run that are wanted and not there yet.
    fn further(
        &self,
        session: &Session<'_>,
        runs: &[PartRun],
        request: Request,
        wanted: &[Need],
        why: Added,
    ) -> Result<Option<Prepared>, SessionError> {
        let Some(tag) = request.study.clone() else { return Ok(None) };
        let Some(part) = self.study.part(&tag.part) else { return Ok(None) };
        let wanted: Vec<&Need> = wanted.iter().filter(|need| need.part == tag.part).collect();
        let Some(most) = wanted.iter().map(|need| need.seeds).max() else { return Ok(None) };
        let of_cell = || runs.iter().filter(|it| is_same_cell(&it.tag, &tag));
        let own: Vec<&TrialSpec> =
            of_cell().flat_map(|it| &it.run.trials).map(|trial| &trial.spec).collect();
        let looked = of_cell().map(|it| it.tag.look).max().unwrap_or(0);
        let look = looked + u32::from(why != Added::InPlaceOfLost);
        let more = Request {
            repeats: u32::try_from(most).unwrap_or(u32::MAX),
            size: own.iter().find_map(|spec| spec.size).or(request.size),
            study: Some(StudyTag { look, ..tag }),
            ..request
        };
        let mut prepared = session.prepare(more)?;
        let scale = prepared.request.scale;
        prepared.retain(|mut trials| {
            if part.sequence {
                // What --only left out of a sequence stays out.
                let length = own.first().map_or(usize::MAX, |spec| spec.workloads.len());
                trials.iter_mut().for_each(|spec| spec.workloads.truncate(length));
            }
            trials.retain(|spec| {
                wanted.iter().any(|need| is_wanted(need, part, spec, scale)) && !own.contains(&spec)
            });
            trials
        });
        Ok((!prepared.trials.is_empty()).then_some(prepared))
    }
}

fn is_wanted(need: &Need, part: &Part, spec: &TrialSpec, scale: f64) -> bool {
    let does = |known: &NamedWorkload| {
        let parameters = known.at_scale(scale);
        spec.workloads.iter().any(|choice| {
            choice.name == known.request.name && Some(&choice.parameters) == parameters.as_ref()
        })
    };
    let named = part.workloads.iter().find(|known| known.id == need.workload);
    need.contender == spec.contender.name
        && (spec.block as usize) < need.seeds
        && named.is_some_and(does)
}
