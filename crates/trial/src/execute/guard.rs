//! What is asked before a command overwrites a device, and told afterwards.

use stack::Command;

/// Asked immediately before, and notified after, each command that overwrites a device.
pub trait Guard {
    /// Whether the trial's devices are still what was claimed.
    ///
    /// # Errors
    /// With what changed; the command is not run then.
    fn permit(&self, command: &Command) -> Result<(), String>;

    /// The command has run: signatures it left are the trial's own.
    fn ran(&self, command: &Command);

    /// Cuts the disks' power, so that they accept no write from now on, or restores it. Returns
    /// whether it can do that.
    fn switch_power(&self, _on: bool) -> bool {
        false
    }
}

/// For devices that no one else can have: simulated disks.
#[derive(Default)]
pub struct Unguarded<'a> {
    power: Option<&'a dyn Fn(bool)>,
}

impl<'a> Unguarded<'a> {
    /// For disks whose power `switch` cuts and restores.
    pub fn with_power(switch: &'a dyn Fn(bool)) -> Unguarded<'a> {
        Unguarded { power: Some(switch) }
    }
}

impl Guard for Unguarded<'_> {
    fn permit(&self, _: &Command) -> Result<(), String> {
        Ok(())
    }

    fn ran(&self, _: &Command) {}

    fn switch_power(&self, on: bool) -> bool {
        self.power.inspect(|switch| switch(on)).is_some()
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    struct Plain;

    impl Guard for Plain {
        fn permit(&self, _: &Command) -> Result<(), String> {
            Ok(())
        }

        fn ran(&self, _: &Command) {}
    }

    #[test]
    fn a_guard_that_says_nothing_of_power_has_no_switch() {
        for on in [false, true] {
            assert!(!Plain.switch_power(on));
            assert!(!Unguarded::default().switch_power(on));
        }
    }

    #[test]
    fn the_power_of_simulated_disks_is_switched() {
        let seen = RefCell::new(Vec::new());
        let switch = |on: bool| seen.borrow_mut().push(on);
        let guard = Unguarded::with_power(&switch);
        assert!(guard.switch_power(false));
        assert!(guard.switch_power(true));
        assert_eq!(*seen.borrow(), [false, true]);
    }
}
