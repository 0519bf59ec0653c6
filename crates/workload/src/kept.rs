//! A host for tests: it keeps every event, and has neither devices nor a cold cache.

use std::cell::RefCell;

use units::DeviceNumber;

use crate::{Cache, Host, PhaseEvent};

/// What phases reported, in order.
#[derive(Default)]
pub(crate) struct Kept(pub(crate) RefCell<Vec<PhaseEvent>>);

impl Host for Kept {
    fn make_cold(&self) -> Cache {
        Cache::Warm { why: "not for tests".to_owned() }
    }

    fn check_target(&self) -> Result<(), String> {
        Ok(())
    }

    fn devices(&self) -> Vec<DeviceNumber> {
        Vec::new()
    }

    fn emit(&self, event: PhaseEvent) {
        self.0.borrow_mut().push(event);
    }
}
