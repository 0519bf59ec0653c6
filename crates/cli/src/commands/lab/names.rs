//! `fstrial lab list` and `fstrial lab remove`: labs side by side, by name.

use crate::exit::{Ended, Exit, Failure};
use crate::output::{print, say};

/// Lists the labs: name, kernel's release, optional parts.
pub(super) fn list() -> Ended {
    let cache = super::cache()?;
    let names = lab::names(&cache).map_err(Failure::from(Exit::Refused))?;
    let mut text = String::new();
    for name in &names {
        let said = match lab::find(&cache, name) {
            Ok(software) => {
                let parts: Vec<&str> = software.manifest.with.iter().map(String::as_str).collect();
                let with = match parts.is_empty() {
                    true => String::new(),
                    false => format!(", with {}", parts.join(", ")),
                };
                let own = software.manifest.own_kernel.as_ref();
                let own = own.map_or(String::new(), |own| format!(" of {}", own.made_of));
                format!("Linux {}{own}{with}", software.kernel_release())
            }
            Err(error) => error.to_string(),
        };
        text += &format!("{name:<16}  {said}\n");
    }
    if names.is_empty() {
        text = "there is no lab yet: `fstrial lab build` makes one\n".to_owned();
    }
    print(&text)?;
    Ok(Exit::Done)
}

/// Removes one.
pub(super) fn remove(name: &str) -> Ended {
    lab::remove(&super::cache()?, name).map_err(Failure::from(Exit::Refused))?;
    say!("the lab `{name}` is removed");
    Ok(Exit::Done)
}
