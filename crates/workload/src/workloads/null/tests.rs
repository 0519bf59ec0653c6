//! The workload that does nothing, as often as asked for.

use std::cell::RefCell;
use std::collections::BTreeMap;

use measure::DeviceId;

use super::*;
use crate::{Cache, Host, Inputs, PhaseEvent, PhaseResult, Seed};

/// Keeps the results of phases.
#[derive(Default)]
struct Kept(RefCell<Vec<PhaseResult>>);

impl Host for Kept {
    fn make_cold(&self) -> Cache {
        Cache::Warm { why: "a test".to_owned() }
    }

    fn check_target(&self) -> Result<(), String> {
        Ok(())
    }

    fn devices(&self) -> Vec<DeviceId> {
        Vec::new()
    }

    fn emit(&self, event: PhaseEvent) {
        if let PhaseEvent::Finished(result) = event {
            self.0.borrow_mut().push(*result);
        }
    }
}

#[test]
fn as_many_ops_are_counted_as_were_asked_for() {
    let given = BTreeMap::from([("ops".to_owned(), "1000".to_owned())]);
    let parameters = Parameters::resolve(&DESCRIPTION, &given, 1.0).unwrap();
    let (home, host, inputs) = (tempfile::tempdir().unwrap(), Kept::default(), Inputs::default());
    let target = home.path().to_owned();
    let mut context = Context::new(&host, &DESCRIPTION, target, parameters, &inputs, Seed(1), true);
    Null.run(&mut context).unwrap();
    let results = host.0.borrow();
    assert_eq!(results.len(), 1);
    assert_eq!((results[0].phase.as_str(), results[0].ops), ("spin", 1000));
    assert_eq!(results[0].latencies["nothing"].count(), 1000);
}
