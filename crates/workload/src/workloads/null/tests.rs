//! The workload that does nothing, as often as asked for.

use std::collections::BTreeMap;

use super::*;
use crate::kept::Kept;
use crate::{Inputs, PhaseEvent, Seed};

#[test]
fn as_many_ops_are_counted_as_were_asked_for() {
    let given = BTreeMap::from([("ops".to_owned(), "1000".to_owned())]);
    let parameters = Parameters::resolve(&DESCRIPTION, &given, 1.0).unwrap();
    let (home, host, inputs) = (tempfile::tempdir().unwrap(), Kept::default(), Inputs::default());
    let target = home.path().to_owned();
    let mut context = Context::new(&host, &DESCRIPTION, target, parameters, &inputs, Seed(1), true);
    Null.run(&mut context).unwrap();
    let events = host.0.into_inner();
    let Some(PhaseEvent::Finished(result)) = events.last() else { panic!("{events:?}") };
    assert_eq!((result.phase.as_str(), result.ops), ("spin", 1000));
    assert_eq!(result.latencies["nothing"].count(), 1000);
}
